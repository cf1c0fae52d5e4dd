//! Markdown as a terminal shows it: headings and emphasis in colours, lists with
//! bullets, code as it is, tables in columns. Nothing that was written is left
//! out: HTML is shown as the text it is, and an address stands beside its link.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::fitted::columns;
use super::styled::Styled;
use super::terminal::Tint;
use super::wrap::{Breaks, wrapped};

/// Between two columns of a table.
const COLUMN_GAP: usize = 2;

/// Returns Markdown as lines of at most so many columns.
#[must_use]
pub fn rendered(text: &str, width: usize) -> Vec<Styled> {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS);
    let mut definitions: Vec<(usize, String)> = Vec::new();
    for (label, definition) in parser.reference_definitions().iter() {
        let title = definition.title.as_ref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
        definitions.push((definition.span.start, format!("[{label}]: {}{title}", definition.dest)));
    }
    definitions.sort_unstable();
    let mut page = Page { width, ..Page::default() };
    parser.for_each(|event| page.take(event));
    page.flush();
    for (_, definition) in definitions {
        page.inline.push(Tint::Guide, &definition);
        page.flush();
    }
    page.lines
}

/// What is put before the lines of a block that stands in another one.
struct Margin {
    /// Before the first line: the bullet of a list.
    first: Option<String>,
    /// Before the others.
    rest: String,
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<Styled>>,
}

/// Lines that are being put together.
#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<Styled>,
    inline: Styled,
    tints: Vec<Tint>,
    margins: Vec<Margin>,
    /// The number of the next item of each open list; nothing where it has
    /// bullets.
    lists: Vec<Option<u64>>,
    /// Addresses of open links and pictures.
    targets: Vec<String>,
    /// Info line and text of an open block of code.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Whether an empty line comes before the next block.
    gap: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => self.inline.push(Tint::Code, &code),
            Event::Html(html) | Event::InlineHtml(html) => self.push(&html),
            Event::FootnoteReference(label) => self.push(&format!("[^{label}]")),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => {
                self.flush();
                let room = self.room().min(40);
                self.block(vec![Styled::of(Tint::Guide, "─".repeat(room))]);
                self.gap = true;
            }
            Event::TaskListMarker(is_done) => self.push(if is_done { "[x] " } else { "[ ] " }),
        }
    }

    fn push(&mut self, text: &str) {
        self.inline.push(self.tints.last().copied().unwrap_or(Tint::Plain), text);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::DefinitionListTitle => self.flush(),
            Tag::Heading { level, .. } => {
                self.flush();
                self.gap = !self.lines.is_empty();
                self.tints.push(Tint::Strong);
                self.push(&format!("{} ", "#".repeat(level as usize)));
            }
            Tag::BlockQuote(_) => self.indent(None, "│ "),
            Tag::CodeBlock(kind) => {
                self.flush();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let bullet = format!("{number}. ");
                        *number = number.saturating_add(1);
                        bullet
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                let rest = " ".repeat(columns(&bullet));
                self.indent(Some(bullet), &rest);
            }
            Tag::FootnoteDefinition(label) => self.indent(Some(format!("[^{label}]: ")), "  "),
            Tag::DefinitionList | Tag::DefinitionListDefinition => self.indent(None, "  "),
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Table::default());
            }
            Tag::TableHead => {
                self.tints.push(Tint::Strong);
                self.rows(|rows| rows.push(Vec::new()));
            }
            Tag::TableRow => self.rows(|rows| rows.push(Vec::new())),
            Tag::TableCell | Tag::MetadataBlock(_) => {}
            Tag::Emphasis => self.tints.push(Tint::Emphasis),
            Tag::Strong => self.tints.push(Tint::Strong),
            Tag::Strikethrough => self.tints.push(Tint::Struck),
            Tag::Superscript => self.push("^"),
            Tag::Subscript => self.push("~"),
            Tag::Link { dest_url, .. } => {
                self.tints.push(Tint::Link);
                self.targets.push(dest_url.into_string());
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ");
                self.targets.push(dest_url.into_string());
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.tints.pop();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition | TagEnd::DefinitionList => {
                self.dedent();
                self.gap = true;
            }
            TagEnd::Item | TagEnd::DefinitionListDefinition => self.dedent(),
            TagEnd::CodeBlock => self.close_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::DefinitionListTitle => self.flush(),
            TagEnd::Table => self.close_table(),
            TagEnd::TableHead => {
                self.tints.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.rows(|rows| rows.last_mut().map_or((), |row| row.push(cell)));
            }
            TagEnd::TableRow | TagEnd::MetadataBlock(_) | TagEnd::Superscript | TagEnd::Subscript => {}
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.tints.pop();
            }
            TagEnd::Link => {
                self.tints.pop();
                self.close_target("");
            }
            TagEnd::Image => self.close_target("]"),
        }
    }

    /// Shows the address of a link beside its words, unless these say it.
    fn close_target(&mut self, bracket: &str) {
        let target = self.targets.pop().unwrap_or_default();
        self.push(bracket);
        if !target.is_empty() && !self.inline.plain().ends_with(&target) {
            self.inline.push(Tint::Guide, &format!(" ({target})"));
        }
    }

    fn rows(&mut self, change: impl FnOnce(&mut Vec<Vec<Styled>>)) {
        if let Some(table) = &mut self.table {
            change(&mut table.rows);
        }
    }

    fn indent(&mut self, first: Option<String>, rest: &str) {
        self.flush();
        self.close_gap();
        // However deep a text is nested, half of a line is left for its words.
        let used: usize = self.margins.iter().map(|margin| columns(&margin.rest)).sum();
        let has_room = used + columns(rest) <= self.width / 2;
        let margin = if has_room { Margin { first, rest: rest.to_owned() } } else { Margin { first: None, rest: String::new() } };
        self.margins.push(margin);
    }

    fn dedent(&mut self) {
        self.flush();
        // An item without words still has its bullet.
        if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
            self.block(vec![Styled::new()]);
        }
        self.margins.pop();
    }

    /// Returns how many columns a line has beside the margins.
    fn room(&self) -> usize {
        let used: usize = self.margins.iter().map(|margin| columns(&margin.rest)).sum();
        self.width.saturating_sub(used).max(2)
    }

    /// Ends the paragraph that is being read.
    fn flush(&mut self) {
        // In a table the words belong to a cell until that ends.
        if self.inline.is_empty() || self.table.is_some() {
            return;
        }
        let text = std::mem::take(&mut self.inline);
        let mut lines = wrapped(&text, self.room(), Breaks::Words);
        while lines.len() > 1 && lines.last().is_some_and(Styled::is_empty) {
            lines.pop();
        }
        self.block(lines);
    }

    /// Appends lines with what stands before them.
    fn block(&mut self, lines: Vec<Styled>) {
        self.close_gap();
        for line in lines {
            let mut whole = Styled::new();
            for margin in &mut self.margins {
                whole.push(Tint::Guide, &margin.first.take().unwrap_or_else(|| margin.rest.clone()));
            }
            whole.append(line);
            self.lines.push(whole);
        }
    }

    /// Puts the empty line between two blocks.
    fn close_gap(&mut self) {
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let margin: String = self.margins.iter().map(|margin| margin.rest.as_str()).collect();
            self.lines.push(Styled::of(Tint::Guide, margin.trim_end()));
        }
    }

    fn close_code(&mut self) {
        let Some((info, code)) = self.code.take() else { return };
        let (room, is_diff) = (self.room().saturating_sub(2), matches!(info.split_whitespace().next(), Some("diff" | "patch")));
        let mut lines = if info.trim().is_empty() { Vec::new() } else { wrapped(&Styled::of(Tint::Guide, info), room, Breaks::Anywhere) };
        for line in code.lines() {
            let tint = match line.as_bytes().first() {
                Some(b'+') if is_diff => Tint::Added,
                Some(b'-') if is_diff => Tint::Removed,
                Some(_) | None => Tint::Code,
            };
            lines.extend(wrapped(&Styled::of(tint, line), room, Breaks::Anywhere));
        }
        self.indent(None, "  ");
        self.block(lines);
        self.dedent();
        self.gap = true;
    }

    /// Shows a table in columns, or where these are wider than a line, a row in
    /// several lines.
    fn close_table(&mut self) {
        let Some(Table { rows }) = self.table.take() else { return };
        let width_of = |cell: &Styled| columns(&cell.plain());
        let count = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..count).map(|n| rows.iter().filter_map(|row| row.get(n)).map(width_of).max().unwrap_or(0)).collect();
        let all = widths.iter().sum::<usize>() + COLUMN_GAP * count.saturating_sub(1);
        let is_narrow = all > self.room();
        let mut lines = Vec::new();
        for (n, row) in rows.into_iter().enumerate() {
            let last = row.len().saturating_sub(1);
            if is_narrow {
                for (k, cell) in row.into_iter().enumerate() {
                    let mut line = Styled::of(Tint::Guide, if k == 0 { "" } else { "| " });
                    line.append(cell);
                    lines.extend(wrapped(&line, self.room(), Breaks::Words));
                }
                lines.push(Styled::new());
                continue;
            }
            let mut line = Styled::new();
            for (k, cell) in row.into_iter().enumerate() {
                let pad = if k == last { 0 } else { widths[k].saturating_sub(width_of(&cell)) + COLUMN_GAP };
                line.append(cell);
                line.push(Tint::Plain, &" ".repeat(pad));
            }
            lines.push(line);
            if n == 0 {
                lines.push(Styled::of(Tint::Guide, "─".repeat(all)));
            }
        }
        if is_narrow {
            lines.pop();
        }
        self.block(lines);
        self.gap = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        rendered(text, width).iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn blocks_are_laid_out() {
        let text = "# Title\nSome **bold** and `code`,\nnext line.\n\n- one\n- two\n  1. nested item that wraps\n- [x] done\n\n> quoted\n\n```rust\nfn  main() {}\n```\nend";
        let want = "# Title\n\nSome bold and code,\nnext line.\n\n• one\n• two\n  1. nested item that\n     wraps\n• [x] done\n\n│ quoted\n\n  rust\n  fn  main() {}\n\nend\n";
        assert_eq!(shown(text, 22), want);
    }

    #[test]
    fn tables_are_columns_or_lines() {
        let text = "| 名 | size |\n|---|---|\n| 你好 | 1 |\n| x | `22` |\n";
        assert_eq!(shown(text, 20), "名    size\n──────────\n你好  1\nx     22\n");
        assert_eq!(shown(text, 8), "名\n| size\n\n你好\n| 1\n\nx\n| 22\n");
    }

    #[test]
    fn nothing_is_left_out() {
        let text = "<b>raw</b> [words](http://a.example/x) <http://b.example> ![alt](p.png)\n\n[ref]: http://c.example \"t\"\n";
        assert_eq!(
            shown(text, 200),
            "<b>raw</b> words (http://a.example/x) http://b.example [image: alt] (p.png)\n\n[ref]: http://c.example \"t\"\n"
        );
        assert_eq!(shown("1. \n2. b\n", 20), "1. \n2. b\n");
        assert_eq!(shown("    indented\n\ttab", 20), "  indented\n  tab\n");
    }

    #[test]
    fn deep_nesting_leaves_room_for_words() {
        let lines = rendered(&format!("{} deep words here", ">".repeat(5_000)), 20);
        assert!(lines.iter().all(|line| columns(&line.plain()) <= 20), "{lines:?}");
        assert!(lines.iter().any(|line| line.plain().contains("words")));
    }

    #[test]
    fn emphasis_and_changes_have_colours() {
        let line = rendered("a *b* ~~c~~", 20).remove(0);
        assert_eq!(line.pieces().collect::<Vec<_>>()[1], (Tint::Emphasis, "b"));
        let diff = rendered("```diff\n+new\n-old\n```", 20);
        assert_eq!(diff[1].pieces().last(), Some((Tint::Added, "+new")));
        assert_eq!(diff[2].pieces().last(), Some((Tint::Removed, "-old")));
    }
}
