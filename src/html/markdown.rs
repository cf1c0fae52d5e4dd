//! Markdown as a page shows it. Markup that a message has itself is text here,
//! links lead only to the web or to a mail program, and no picture is loaded.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::escape::{escaped, push_escaped};
use super::highlight::push_code;

/// Texts of so many bytes are shown as they are: nobody writes them by hand.
const LONGEST: usize = 400_000;

/// Appends a text in Markdown.
pub(super) fn push_markdown(text: &str, out: &mut String) {
    if text.len() > LONGEST {
        out.push_str("<pre class=wrap>");
        push_escaped(text, out);
        out.push_str("</pre>");
        return;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut shown = Vec::new();
    let mut code: Option<(String, String)> = None;
    for event in Parser::new_ext(text, options) {
        if let Some((_, block)) = &mut code
            && let Event::Text(text) = &event
        {
            block.push_str(text);
            continue;
        }
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                code = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, block)) = code.take() {
                    shown.push(markup(code_block(&block, &language)));
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => shown.push(markup(link(&dest_url))),
            Event::End(TagEnd::Link) => shown.push(markup("</a>".to_owned())),
            Event::Start(Tag::Image { dest_url, .. }) => {
                shown.push(markup(format!("<span class=remote title=\"{}\">image: ", escaped(&dest_url))));
            }
            Event::End(TagEnd::Image) => shown.push(markup("</span>".to_owned())),
            // Raw markup, controls and all, is a text.
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => shown.push(markup(escaped(&text))),
            Event::Code(text) => shown.push(markup(format!("<code>{}</code>", escaped(&text)))),
            // A heading would be one of the page, and its attributes a message's.
            Event::Start(Tag::Heading { level, .. }) => shown.push(markup(format!("<p class=\"h h{}\">", level as u8))),
            Event::End(TagEnd::Heading(_)) => shown.push(markup("</p>\n".to_owned())),
            // A line end that a person typed is one that a person sees.
            Event::SoftBreak => shown.push(Event::HardBreak),
            Event::Start(Tag::HtmlBlock) => shown.push(markup("<p class=lines>".to_owned())),
            Event::End(TagEnd::HtmlBlock) => shown.push(markup("</p>\n".to_owned())),
            event @ (Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_)) => shown.push(event),
        }
    }
    html::push_html(out, shown.into_iter());
}

/// Appends a block of code.
pub(super) fn code_block(code: &str, language: &str) -> String {
    let mut out = String::from("<pre class=code>");
    if !language.is_empty() {
        out.push_str("<b class=lang>");
        push_escaped(language, &mut out);
        out.push_str("</b>");
    }
    push_code(code.trim_end_matches('\n'), language, &mut out);
    out.push_str("</pre>");
    out
}

fn markup(text: String) -> Event<'static> {
    Event::InlineHtml(CowStr::from(text))
}

/// The beginning of a link, which leads nowhere where its address is not one of
/// the web or of a mail.
fn link(address: &str) -> String {
    let lower = address.trim().to_ascii_lowercase();
    let is_allowed = ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    let shown = escaped(address);
    if is_allowed {
        format!("<a href=\"{shown}\" rel=noreferrer target=_blank title=\"{shown}\">")
    } else {
        format!("<a class=nolink title=\"{shown}\">")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        push_markdown(text, &mut out);
        out
    }

    #[test]
    fn markdown_is_rendered() {
        let page = shown("# Title\n\na **b** `c<d`\nnext\n\n```rust\nlet x = 1;\n```\n\n| a |\n|---|\n| b |\n");
        for part in ["<p class=\"h h1\">Title</p>", "<strong>b</strong>", "<code>c&lt;d</code><br />", "<i class=k>let</i>", "<td>b</td>"] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[test]
    fn a_block_of_markup_keeps_its_lines() {
        assert_eq!(shown("<tools list>\n- `a`\n</tools>"), "<p class=lines>&lt;tools list&gt;\n- `a`\n&lt;/tools&gt;</p>\n");
    }

    #[test]
    fn markup_of_a_message_is_text() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div>\n<b>x</b>\n</div>",
            "`</code><script>`",
            "```x\"><script>\n</pre><script>\n```",
            "| <script> |\n|---|\n| <script> |",
            "# a {onclick=alert(1)}\n# b <script>",
            "![a <script>](x\"onerror=\"y)",
            "&lt;script&gt; &#60;script&#62;",
        ] {
            let page = shown(text);
            for bad in ["<script", "<img", "<div", "<b>", "\"onerror", " onclick=\""] {
                assert!(!page.contains(bad), "{bad} in {page}");
            }
        }
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere() {
        assert!(shown("[a](https://example.org/?a=1&b=2)").contains("<a href=\"https://example.org/?a=1&amp;b=2\" rel=noreferrer"));
        assert!(shown("<jane@example.org>").contains("</a>"));
        for text in
            ["[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](data:text/html,x)", "[a](file:///etc/passwd)", "[a](//x.org)"]
        {
            assert!(!shown(text).contains("href"), "{}", shown(text));
        }
        assert!(!shown("![a](https://example.org/x.png)").contains("src"));
    }
}
