//! What a secret looks like: a table of shapes, and of the names that secrets
//! are kept under.

use regex::{Regex, RegexSet};
use std::ops::Range;
use std::sync::LazyLock;

/// How a secret is recognised.
struct Rule {
    /// The word of its placeholder.
    kind: &'static str,
    /// Its shape. Where the shape has a group, that is the secret, and the rest
    /// only says what it is.
    shape: &'static str,
    /// Whether what was found may be something harmless of the same shape.
    check: Check,
}

/// What is looked at once a shape fits.
#[derive(Clone, Copy)]
enum Check {
    /// Nothing: nothing else has this shape.
    Sure,
    /// Whether a value that has a secret's name is a secret's value.
    Value,
    /// Whether an address is one of a person.
    Address,
}

const fn sure(kind: &'static str, shape: &'static str) -> Rule {
    Rule { kind, shape, check: Check::Sure }
}

const fn value(kind: &'static str, shape: &'static str) -> Rule {
    Rule { kind, shape, check: Check::Value }
}

/// The placeholder's word for a key of a service.
const API_KEY: &str = "api-key";
/// The placeholder's word for what a person's own pattern finds.
pub(super) const PATTERN: &str = "redacted";
/// The placeholder's word for a home directory.
pub(super) const HOME: &str = "home";
/// The placeholder's word for an e-mail address.
pub(super) const EMAIL: &str = "email";
/// The placeholder's word for a password.
const PASSWORD: &str = "password";
/// The placeholder's word for a value that a secret's name stands before.
pub(super) const SECRET: &str = "secret";

/// Of two rules that find secrets which overlap, the earlier one names both.
const RULES: &[Rule] = &[
    // A key that was cut off is a key up to the end of its text.
    sure("private-key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)"),
    sure("private-key", r"PuTTY-User-Key-File-[23]:[\s\S]*?(?:Private-MAC: *[0-9a-f]+|\z)"),
    sure("private-key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    sure("aws-key", r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b"),
    sure("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    sure("gitlab-token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_-]{20,}"),
    sure("slack-token", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    sure("slack-token", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}"),
    // Anthropic, OpenAI, OpenRouter, DeepSeek and many that follow them.
    sure(API_KEY, r"\bsk-[A-Za-z0-9_-]{20,}"),
    sure(API_KEY, r"\b(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,})"),
    sure(API_KEY, r"\b(?:gsk_|hf_|r8_|xai-|pplx-|tvly-|fw_|co_|nvapi-|csk-|jina_|lsv2_(?:pt|sk)_)[A-Za-z0-9_-]{24,}"),
    sure(API_KEY, r"\b(?:[rs]k_(?:live|test|prod)_|whsec_)[A-Za-z0-9]{10,}"),
    sure(
        API_KEY,
        r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|cio[A-Za-z0-9]{32}|dckr_pat_[A-Za-z0-9_-]{20,}|rubygems_[a-f0-9]{48})",
    ),
    sure(API_KEY, r"\b(?:SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|SK[0-9a-f]{32}\b|key-[0-9a-f]{32}\b)"),
    sure(
        API_KEY,
        r"\b(?:do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|lin_(?:api|oauth)_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)",
    ),
    sure(
        API_KEY,
        r"\b(?:fig[dou]_[A-Za-z0-9_-]{30,}|hv[bsr]\.[A-Za-z0-9_-]{20,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32})",
    ),
    sure(
        API_KEY,
        r"\b(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{20,}|\bsbp_[a-f0-9]{40}|\bglsa_[A-Za-z0-9_]{32,}|\bNRAK-[A-Z0-9]{27}|\bEAA[A-Za-z0-9]{60,}",
    ),
    sure(
        API_KEY,
        r"\b(?:tskey-[a-z]+-[A-Za-z0-9-]{16,}|pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{30,}|phc_[A-Za-z0-9]{40,}|pat-[a-z]{2}\d-[0-9a-f-]{36})",
    ),
    sure("bot-token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{30,}"),
    sure("bot-token", r"\b[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}"),
    sure("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    sure(PASSWORD, r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'"<>]*:([^\s/@'"<>]+)@"#),
    value(
        "authorization",
        r#"(?i)\bauthorization\\*["']?\s*(?::|=>?)\s*\\*["']?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s+)?([^\s"'\\,;<>]{6,})"#,
    ),
    value("authorization", r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/-]{16,}=*)"),
    value("cookie", r#"(?i)\b(?:set-)?cookie\\*["']?\s*:\s*\\*["']?([^\s"'][^"'\r\n\\]{7,})"#),
    // A name that ends as those of secrets do, then its value, in quotes or bare.
    value(
        SECRET,
        r#"(?i)(?:password|passwd|passphrase|\bpwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|account[_-]?key|shared[_-]?access[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|credentials?)\\*["']?\s*(?:=>|:=|=|:)\s*\\*(?:"([^"\\\r\n]{4,})|'([^'\\\r\n]{4,})|([^\s"'`\\,;()\[\]{}<>]{4,}[(\[{]?))"#,
    ),
    value(SECRET, r#"(?i)(?:^|\s)--?(?:[a-z]+-)*(?:password|passwd|passphrase|secret|token|api-?key)\s+["']?([^\s"'`\\,;()\[\]{}<>]{4,})"#),
    value(PASSWORD, r#"(?:\bcurl\b[^\r\n|]*?\s(?:-u|--user)[ =]?["']?[^\s:"']+:([^\s"']+)|\bsshpass\s+-p\s*["']?([^\s"']+))"#),
    // The rest of a key that began in another part, or before what was cut.
    sure("private-key", r"\A[A-Za-z0-9+/=\s\\]{40,}-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"),
    value(PASSWORD, r"(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)"),
    // What `docker login` keeps: a name and a password in base64.
    value(SECRET, r#"\\*"auth\\*"\s*:\s*\\*"([A-Za-z0-9+/=]{12,})"#),
    sure(SECRET, r"[?&](?:sig|X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token|access_token|client_secret)=([A-Za-z0-9%/+=_.-]{12,})"),
    Rule {
        kind: EMAIL,
        shape: r"[\p{L}\p{N}][\p{L}\p{N}._%+-]*@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,24}\b",
        check: Check::Address,
    },
    // A name with a blank in it only ends at the next separator.
    sure(HOME, r#"(?i)(\b[a-z]:[\\/]{1,4}(?:users|documents and settings)[\\/]{1,4}[^\\/:*?"<>|\r\n]{1,40})[\\/]"#),
    sure(HOME, r#"(?i)\b[a-z]:[\\/]{1,4}(?:users|documents and settings)[\\/]{1,4}[^\\/\s:*?"'<>|,;()\[\]{}]+"#),
    sure(HOME, r#"(?:/|%2[Ff])(?:home|Users|export/home|var/home|data/data)(?:/{1,2}|\\/|%2[Ff])[^\\/\s:*?"'`<>|,;()\[\]{}%&#]+"#),
    // As programs name a folder after the path of a project.
    sure(HOME, r"(?:^|[^A-Za-z0-9])(-(?:home|Users)-[A-Za-z0-9_.]+)"),
];

/// Names of which the value is a secret, where a name and its value are told
/// apart: in JSON.
const SECRET_NAME: &str = r"(?i)(?:password|passwd|passphrase|^pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|account[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|authorization|credentials?|cookie)$";

/// Values that stand for a secret without being one.
const STAND_IN: &str = r"(?i)^(?:[$<%{].*|\*+|x+|\.+|-+|_+|.*\.\.\.|.*…|(?:none|null|nil|true|false|undefined|string|str|bool|required|optional|secret|token|password|your[_-].*|example.*|placeholder|changeme|redacted|self\..*|os\..*|env\..*|process\..*|config\..*|settings\..*|args\..*|options\..*|this\..*|&.*|\[[a-z-]+-\d+\])[;,.]?)$";

/// Endings of names of files, which an `@` in a name makes look like addresses.
const FILE_ENDINGS: [&str; 10] = ["png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "service"];

/// The rules, compiled: all of them at once say which are worth a closer look.
struct Compiled {
    any: RegexSet,
    each: Vec<Regex>,
    secret_name: Regex,
    stand_in: Regex,
}

/// A table of patterns that are known to be valid: a test compiles them all.
static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| compile().ok());

fn compile() -> Result<Compiled, regex::Error> {
    let any = RegexSet::new(RULES.iter().map(|rule| rule.shape))?;
    let each = RULES.iter().map(|rule| Regex::new(rule.shape)).collect::<Result<_, _>>()?;
    Ok(Compiled { any, each, secret_name: Regex::new(SECRET_NAME)?, stand_in: Regex::new(STAND_IN)? })
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret {
    /// Where it is.
    pub(super) range: Range<usize>,
    /// The word of its placeholder.
    pub(super) kind: &'static str,
}

/// Appends the secrets in a text, rule by rule.
pub(super) fn find(text: &str, found: &mut Vec<Secret>) {
    let Some(rules) = COMPILED.as_ref() else { return };
    for n in &rules.any.matches(text) {
        let rule = &RULES[n];
        for captures in rules.each[n].captures_iter(text) {
            let secret = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0));
            let Some(secret) = secret.filter(|secret| rule.check.holds(secret.as_str(), &rules.stand_in)) else { continue };
            found.push(Secret { range: secret.range(), kind: rule.kind });
        }
    }
}

/// Tells whether a member with this name has a secret as its value.
pub(super) fn is_secret_member(name: &str, value: &str) -> bool {
    let Some(rules) = COMPILED.as_ref() else { return true };
    value.chars().count() >= 4 && rules.secret_name.is_match(name) && !rules.stand_in.is_match(value)
}

/// Tells whether the rules could be compiled: without them nothing may be shown.
pub(super) fn are_usable() -> bool {
    COMPILED.is_some()
}

impl Check {
    fn holds(self, found: &str, stand_in: &Regex) -> bool {
        match self {
            Check::Sure => true,
            // A call or an element of a list is code that gets a secret.
            Check::Value => !stand_in.is_match(found) && !found.ends_with(['(', '[', '{']),
            Check::Address => {
                let ending = found.rsplit('.').next().unwrap_or_default();
                !found.starts_with("git@") && !FILE_ENDINGS.contains(&ending)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, &str)> {
        let mut all = Vec::new();
        find(text, &mut all);
        all.into_iter().map(|found| (found.kind, &text[found.range])).collect()
    }

    #[test]
    fn every_pattern_is_valid() {
        assert!(compile().map(|_| ()).map_err(|error| error.to_string()) == Ok(()));
    }

    #[test]
    fn known_shapes_are_found() {
        let key = |start: &str, len: usize| format!("{start}{}", "aB3dE5gH".repeat(32).chars().take(len).collect::<String>());
        let shapes = [
            ("aws-key", "AKIAIOSFODNN7EXAMPLE".to_owned()),
            ("github-token", key("ghp_", 36)),
            ("github-token", key("github_pat_", 60)),
            ("gitlab-token", key("glpat-", 20)),
            ("slack-token", "xoxb-123456789012-abcdefABCDEF".to_owned()),
            (API_KEY, key("sk-ant-api03-", 80)),
            (API_KEY, key("sk-proj-", 40)),
            (API_KEY, key("AIza", 35)),
            (API_KEY, key("gsk_", 48)),
            (API_KEY, key("hf_", 34)),
            (API_KEY, key("npm_", 36)),
            (API_KEY, key("tskey-auth-", 40)),
            (API_KEY, key("pscale_tkn_", 43)),
            (API_KEY, key("sk_live_", 24)),
            ("bot-token", key("123456789:AA", 33)),
            ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123".to_owned()),
        ];
        for (kind, secret) in &shapes {
            for text in [secret.clone(), format!("say {secret} twice"), format!("\"{secret}\","), format!("x={secret}\n")] {
                let all = found(&text);
                assert!(all.contains(&(*kind, secret.as_str())), "{text:?}: {all:?}");
            }
        }
    }

    #[test]
    fn a_private_key_is_found_to_its_end_or_to_that_of_the_text() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----";
        assert_eq!(found(&format!("a\n{key}\nb")), [("private-key", key)]);
        let cut = "-----BEGIN RSA PRIVATE KEY-----\\nMIIE";
        assert_eq!(found(&format!("a {cut}")), [("private-key", cut)]);
        let rest = format!("{}\n-----END RSA PRIVATE KEY-----", "MIIEabcd".repeat(8));
        assert_eq!(found(&format!("{rest} ok")), [("private-key", rest.as_str())]);
        assert_eq!(found("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"), []);
    }

    #[test]
    fn values_of_secret_names_are_found() {
        for text in [
            "password=hunter2!",
            "DB_PASSWORD: hunter2!",
            r#"{"password": "hunter2!"}"#,
            r#"{\"password\": \"hunter2!\"}"#,
            "export API_TOKEN='hunter2!'",
            "mysql --password hunter2!",
            "postgres://bob:hunter2!@db:5432/x",
            "curl -s -u bob:hunter2! https://x",
            "the file says machine x login bob password hunter2!",
        ] {
            let all = found(text);
            assert!(all.iter().any(|(_, secret)| *secret == "hunter2!"), "{text}: {all:?}");
        }
        assert_eq!(found("Authorization: Bearer abcdef123456"), [("authorization", "abcdef123456")]);
        assert_eq!(found("Authorization: Basic Ym9iOmh1bnRlcjI="), [("authorization", "Ym9iOmh1bnRlcjI=")]);
    }

    #[test]
    fn code_and_stand_ins_are_left_alone() {
        for text in [
            "password = get_password()",
            "token = os.environ[\"TOKEN\"]",
            "api_key: $API_KEY",
            "password: ${PASSWORD}",
            "password=<your password>",
            "max_tokens: 4096, tokens=12345",
            "the token: a short word, or none",
            "let token: String = next();",
            "git@github.com:a/b.git",
            "icon@2x.png",
            "a skeleton, task-list-items-are-here-and-there",
            "/usr/home-made, /homeward",
        ] {
            let all = found(text);
            assert_eq!(all, [], "{text}");
        }
    }

    #[test]
    fn addresses_and_home_directories_are_found() {
        assert_eq!(found("to: Jane.Doe+x@mail.example.org."), [(EMAIL, "Jane.Doe+x@mail.example.org")]);
        assert_eq!(found("in /home/jane/src/x"), [(HOME, "/home/jane")]);
        assert_eq!(found("file:///Users/jane/x"), [(HOME, "/Users/jane")]);
        assert_eq!(found(r"C:\Users\Jane Doe\x")[0], (HOME, r"C:\Users\Jane Doe"));
        assert_eq!(found(r"C:\\Users\\jane is"), [(HOME, r"C:\\Users\\jane")]);
        assert_eq!(found("projects/-home-jane-src"), [(HOME, "-home-jane")]);
    }

    #[test]
    fn members_are_judged_by_their_names() {
        assert!(is_secret_member("db_password", "hunter2"));
        assert!(is_secret_member("X-Api-Key", "hunter2"));
        assert!(!is_secret_member("max_tokens", "hunter2"));
        assert!(!is_secret_member("password", "${PASSWORD}"));
        assert!(!is_secret_member("passwords", "hunter2"));
    }
}
