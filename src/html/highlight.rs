//! Code with colours: comments, texts, numbers and the words of a language.
//!
//! One scanner serves all languages, driven by a few facts about each. It reads a
//! text once, from front to back, whatever stands in it.

use super::escape::push_escaped;

/// What has to be known of a language.
struct Language {
    names: &'static [&'static str],
    /// What begins a comment that ends with its line.
    line_comments: &'static [&'static str],
    /// What begins and ends other comments.
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
    words: &'static [&'static str],
}

const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"'],
        words: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn", "for", "if",
            "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "static", "struct",
            "super", "trait", "true", "type", "unsafe", "use", "where", "while",
        ],
    },
    Language {
        names: &["python", "py", "python3", "ipython"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        words: &[
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "False",
            "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "None", "nonlocal", "not", "or", "pass", "raise",
            "return", "self", "True", "try", "while", "with", "yield",
        ],
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "typescript", "ts", "tsx"],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"', '\'', '`'],
        words: &[
            "abstract",
            "any",
            "as",
            "async",
            "await",
            "boolean",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "default",
            "delete",
            "do",
            "else",
            "enum",
            "export",
            "extends",
            "false",
            "finally",
            "for",
            "from",
            "function",
            "if",
            "implements",
            "import",
            "in",
            "instanceof",
            "interface",
            "let",
            "new",
            "null",
            "number",
            "of",
            "private",
            "public",
            "readonly",
            "return",
            "static",
            "string",
            "super",
            "switch",
            "this",
            "throw",
            "true",
            "try",
            "type",
            "typeof",
            "undefined",
            "var",
            "void",
            "while",
            "yield",
        ],
    },
    Language {
        names: &["go", "golang"],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"', '`'],
        words: &[
            "break",
            "case",
            "chan",
            "const",
            "continue",
            "default",
            "defer",
            "else",
            "fallthrough",
            "false",
            "for",
            "func",
            "go",
            "goto",
            "if",
            "import",
            "interface",
            "map",
            "nil",
            "package",
            "range",
            "return",
            "select",
            "struct",
            "switch",
            "true",
            "type",
            "var",
        ],
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "cxx", "java", "kotlin", "kt", "csharp", "cs", "swift", "scala", "php", "dart", "zig",
        ],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"', '\''],
        words: &[
            "abstract",
            "auto",
            "bool",
            "boolean",
            "break",
            "case",
            "catch",
            "char",
            "class",
            "const",
            "continue",
            "def",
            "default",
            "delete",
            "do",
            "double",
            "else",
            "enum",
            "extends",
            "extern",
            "false",
            "final",
            "float",
            "for",
            "fun",
            "func",
            "function",
            "goto",
            "guard",
            "if",
            "implements",
            "import",
            "include",
            "int",
            "interface",
            "let",
            "long",
            "namespace",
            "new",
            "nil",
            "null",
            "nullptr",
            "operator",
            "override",
            "package",
            "private",
            "protected",
            "public",
            "return",
            "short",
            "signed",
            "sizeof",
            "static",
            "struct",
            "super",
            "switch",
            "template",
            "this",
            "throw",
            "throws",
            "true",
            "try",
            "typedef",
            "typename",
            "union",
            "unsigned",
            "using",
            "val",
            "var",
            "virtual",
            "void",
            "volatile",
            "while",
        ],
    },
    Language {
        names: &["bash", "sh", "shell", "zsh", "console", "fish", "shell-session"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        words: &[
            "case", "cd", "do", "done", "echo", "elif", "else", "esac", "exit", "export", "fi", "for", "function", "if", "in", "local",
            "return", "set", "source", "then", "until", "while",
        ],
    },
    Language {
        names: &["ruby", "rb", "perl", "pl", "elixir", "ex", "r", "julia", "jl", "makefile", "make", "dockerfile", "nix"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        words: &[
            "and", "begin", "class", "def", "do", "else", "elsif", "end", "false", "for", "FROM", "function", "if", "in", "let", "module",
            "my", "nil", "not", "or", "require", "return", "RUN", "self", "sub", "then", "true", "unless", "use", "while", "with",
        ],
    },
    Language {
        names: &["json", "jsonl", "json5"],
        line_comments: &[],
        block_comment: None,
        quotes: &['"'],
        words: &["true", "false", "null"],
    },
    Language {
        names: &["yaml", "yml", "toml", "ini", "cfg", "conf", "properties", "env"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"'],
        words: &["true", "false", "null", "yes", "no"],
    },
    Language {
        names: &["sql", "sqlite", "postgresql", "mysql"],
        line_comments: &["--"],
        block_comment: C_BLOCK,
        quotes: &['\''],
        words: &[
            "ALTER", "AND", "AS", "BEGIN", "BY", "CASE", "COMMIT", "CREATE", "DELETE", "DESC", "DISTINCT", "DROP", "ELSE", "END", "FROM",
            "GROUP", "HAVING", "IN", "INDEX", "INNER", "INSERT", "INTO", "IS", "JOIN", "KEY", "LEFT", "LIKE", "LIMIT", "NOT", "NULL", "ON",
            "OR", "ORDER", "PRIMARY", "SELECT", "SET", "TABLE", "THEN", "UNION", "UPDATE", "VALUES", "VIEW", "WHEN", "WHERE", "WITH",
            "and", "as", "by", "create", "delete", "from", "group", "in", "insert", "into", "is", "join", "left", "like", "limit", "not",
            "null", "on", "or", "order", "select", "set", "table", "update", "values", "where",
        ],
    },
    Language { names: &["css", "scss", "less"], line_comments: &[], block_comment: C_BLOCK, quotes: &['"', '\''], words: &[] },
    Language {
        names: &["html", "xml", "svg", "vue", "svelte", "xhtml"],
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        quotes: &['"'],
        words: &[],
    },
];

/// Appends code, with colours where its language is known.
pub(super) fn push_code(code: &str, language: &str, out: &mut String) {
    let wanted = language.trim().to_ascii_lowercase();
    match LANGUAGES.iter().find(|language| language.names.contains(&wanted.as_str())) {
        Some(language) => scan(code, language, out),
        None if matches!(wanted.as_str(), "diff" | "patch") => super::diff::push_patch(code, out),
        None => push_escaped(code, out),
    }
}

/// Returns the language of a file by its name.
pub(super) fn language_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name {
        "Makefile" | "Dockerfile" | "makefile" => "makefile",
        _ => name.rsplit_once('.').map_or("", |(_, ending)| ending),
    }
}

fn scan(code: &str, language: &Language, out: &mut String) {
    let mut rest = code;
    let mut plain_from = rest;
    while let Some(c) = rest.chars().next() {
        let token = token(rest, c, language);
        let len = match token {
            Token::Plain(len) => {
                rest = &rest[len..];
                continue;
            }
            Token::Coloured(_, len) => len,
        };
        push_escaped(&plain_from[..plain_from.len() - rest.len()], out);
        if let Token::Coloured(class, _) = token {
            out.push_str("<i class=");
            out.push_str(class);
            out.push('>');
            push_escaped(&rest[..len], out);
            out.push_str("</i>");
        }
        rest = &rest[len..];
        plain_from = rest;
    }
    push_escaped(plain_from, out);
}

enum Token {
    Plain(usize),
    /// With its class: comment, text, number, word.
    Coloured(&'static str, usize),
}

/// The token at the beginning of a text, of which `c` is the first character.
fn token(text: &str, c: char, language: &Language) -> Token {
    if language.line_comments.iter().any(|start| text.starts_with(start)) {
        return Token::Coloured("c", text.find('\n').unwrap_or(text.len()));
    }
    if let Some((start, end)) = language.block_comment
        && let Some(inside) = text.strip_prefix(start)
    {
        return Token::Coloured("c", inside.find(end).map_or(text.len(), |at| start.len() + at + end.len()));
    }
    if language.quotes.contains(&c) {
        return quoted(text, c);
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if !is_word(c) {
        return Token::Plain(c.len_utf8());
    }
    let word = &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())];
    if c.is_ascii_digit() {
        Token::Coloured("n", word.len())
    } else if language.words.contains(&word) {
        Token::Coloured("k", word.len())
    } else {
        Token::Plain(word.len())
    }
}

/// A text in quotes. Three quotes, and a back quote, may go over several lines;
/// any other that does not end in its line is not one.
fn quoted(text: &str, quote: char) -> Token {
    let three: String = std::iter::repeat_n(quote, 3).collect();
    if let Some(inside) = text.strip_prefix(three.as_str()) {
        return Token::Coloured("s", inside.find(three.as_str()).map_or(text.len(), |at| at + 6));
    }
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' if quote != '`' => return Token::Plain(1),
            c if c == quote => return Token::Coloured("s", at + 1),
            _ => {}
        }
    }
    Token::Plain(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::escape::escaped;

    fn coloured(code: &str, language: &str) -> String {
        let mut out = String::new();
        push_code(code, language, &mut out);
        out
    }

    #[test]
    fn code_gets_colours_and_keeps_its_text() {
        assert_eq!(
            coloured("let x = \"a<b\"; // 1 < 2\n42", "Rust"),
            "<i class=k>let</i> x = <i class=s>&quot;a&lt;b&quot;</i>; <i class=c>// 1 &lt; 2</i>\n<i class=n>42</i>"
        );
        assert_eq!(coloured("it's <b>", "text"), "it&#39;s &lt;b&gt;");
        assert_eq!(coloured("'''a\n'b''' x", "py"), "<i class=s>&#39;&#39;&#39;a\n&#39;b&#39;&#39;&#39;</i> x");
    }

    #[test]
    fn odd_code_is_shown_as_it_is() {
        for code in ["\"", "'", "/*", "\"\\", "`", "é\"é\\é", "\"\"\"", "<!--", "1é"] {
            for language in ["rust", "js", "py", "html", "sql", "c"] {
                let shown = coloured(code, language);
                let text = shown.replace("</i>", "");
                let text = ["c", "s", "n", "k"].iter().fold(text, |text, class| text.replace(&format!("<i class={class}>"), ""));
                assert_eq!(text, escaped(code), "{language}");
            }
        }
    }

    #[test]
    fn a_file_has_the_language_of_its_ending() {
        assert_eq!(language_of("/a.b/c.rs"), "rs");
        assert_eq!(language_of("C:\\x\\Makefile"), "makefile");
        assert_eq!(language_of("none"), "");
    }
}
