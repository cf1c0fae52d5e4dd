//! What `--help` shows besides the options: commands in groups, and examples of
//! each. The manual pages and the completions are made from the same.

use clap::{Command, CommandFactory};
use std::io;

use super::args::Args;

/// The commands by what people come for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Convert", &["detect", "migrate", "restore", "export", "formats"]),
    ("Read", &["ls", "show", "search", "stats", "html", "replay", "tree", "turns"]),
    ("Check", &["verify", "contains", "diff", "audit", "explain"]),
    ("Maintain", &["repair", "prune", "fork", "store"]),
    ("Other", &["completions", "man", "help"]),
];

/// An example: what a person wants, and what they type.
type Example = (&'static str, &'static str);

/// The examples of each command.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "detect",
        &[
            ("What is in this folder?", "everlog detect ~/sessions"),
            ("What do the programs on this machine have?", "everlog detect"),
            ("For other programs to read", "everlog detect ~/sessions --json"),
        ],
    ),
    (
        "migrate",
        &[
            ("Convert a folder into a store", "everlog migrate ~/sessions -o history"),
            ("Convert what all programs on this machine have", "everlog migrate --all"),
            ("See what would happen", "everlog migrate ~/sessions --dry-run"),
        ],
    ),
    (
        "restore",
        &[
            ("All files of a store", "everlog restore history -o back"),
            ("The files of one session", "everlog restore history/my-chat.everlog.jsonl -o back"),
        ],
    ),
    (
        "export",
        &[
            ("Go on with the newest session in another program", "everlog export @last --store history --to codex --install"),
            (
                "Another branch, in a folder to be copied, and only if nothing is lost",
                "everlog export history/my-chat.everlog.jsonl --head fork-1 --to gptme -o there --strict",
            ),
            ("All sessions as documents", "everlog export history --to markdown -o documents"),
        ],
    ),
    ("formats", &[("What can be converted?", "everlog formats"), ("The same for programs", "everlog formats --json")]),
    (
        "ls",
        &[
            ("The sessions of a store", "everlog ls history"),
            ("This week's sessions in a project", "everlog ls history --since 7d --cwd ~/project"),
            ("The largest first, for programs", "everlog ls history --sort size --json"),
        ],
    ),
    (
        "show",
        &[
            ("Read the newest session", "everlog show @last --store history"),
            ("How it ended, with all that its tools printed", "everlog show toast --store history --last 10 --tools full"),
            ("A Markdown document to hand on", "everlog show history/my-chat.everlog.jsonl --as markdown > my-chat.md"),
        ],
    ),
    (
        "search",
        &[
            ("Who said it, and when?", "everlog search toast history"),
            ("What a person asked about a file this week", "everlog search main.rs history --role user --since 7d"),
            ("Sessions with a failing test, for programs", "everlog search --regex 'FAILED.*test_' history -l --json"),
        ],
    ),
    (
        "stats",
        &[
            ("How much was said, and what did it cost?", "everlog stats history"),
            ("For a spreadsheet", "everlog stats history --csv > history.csv"),
        ],
    ),
    (
        "replay",
        &[
            ("The last messages of the newest session", "everlog replay @last --store history --last 5"),
            ("As the source program stores them", "everlog replay history/my-chat.everlog.jsonl --as source"),
            ("Another branch", "everlog replay history/my-chat.everlog.jsonl --head main-undo-0"),
        ],
    ),
    (
        "html",
        &[
            ("A site of all sessions", "everlog html history -o site --open"),
            ("One session to hand to somebody, without secrets", "everlog html @last --store history -o chat.html --redact"),
        ],
    ),
    (
        "tree",
        &[
            ("Where did this session branch?", "everlog tree history/my-chat.everlog.jsonl"),
            ("Every node", "everlog tree history/my-chat.everlog.jsonl --all"),
        ],
    ),
    (
        "turns",
        &[
            ("Which turns were interrupted?", "everlog turns history/ab12.json.everlog.jsonl"),
            ("The same for programs", "everlog turns history/ab12.json.everlog.jsonl --json"),
        ],
    ),
    (
        "verify",
        &[
            ("Is every log intact?", "everlog verify history"),
            ("Does every log equal its source?", "everlog verify history --source ~/sessions"),
            ("In CI, pinned to one state of the store", "everlog verify history --root \"$STORE_ROOT\" --github"),
        ],
    ),
    (
        "contains",
        &[
            ("May this folder be deleted?", "everlog contains ~/sessions history"),
            ("Is an old backup in the store?", "everlog contains backup/sessions history --json"),
            ("What of old transcripts is in a database?", "everlog contains sessions agent.sqlite --rescue missing"),
        ],
    ),
    (
        "diff",
        &[
            ("A session and its log", "everlog diff ~/sessions/my-chat history/my-chat.everlog.jsonl"),
            ("Two stores", "everlog diff history other-history --max-diffs 3"),
        ],
    ),
    (
        "audit",
        &[
            ("What is wrong in this folder?", "everlog audit ~/sessions"),
            ("Accept what is known; fail on what is new", "everlog audit ~/sessions --accept"),
        ],
    ),
    ("explain", &[("What does [torn_tail] mean?", "everlog explain torn_tail"), ("All codes", "everlog explain")]),
    (
        "repair",
        &[
            ("Print the plan", "everlog repair ~/sessions"),
            ("Apply the plan that was printed", "everlog repair ~/sessions --apply 1f3a9c0d"),
            ("Undo it", "everlog repair ~/sessions --undo ~/sessions.everlog-repair/receipt.json"),
        ],
    ),
    (
        "prune",
        &[
            ("Print the plan", "everlog prune ~/sessions --older-than 30d"),
            ("Apply it, as a scheduled job does", "everlog prune ~/sessions --older-than 30d --apply --quiet"),
            ("Bring back what the last prune removed", "everlog prune ~/sessions --undo"),
        ],
    ),
    (
        "fork",
        &[
            ("Branch off a message", "everlog fork history/my-chat.everlog.jsonl --leaf '#12'"),
            ("With a name", "everlog fork history/my-chat.everlog.jsonl --leaf main --name another-try"),
        ],
    ),
    (
        "store",
        &[
            ("One file of the receipts, after all parts of `migrate --shard K/N`", "everlog store compact history"),
            ("The same for programs", "everlog store compact history --json"),
        ],
    ),
    (
        "completions",
        &[
            ("For bash", "everlog completions bash > ~/.local/share/bash-completion/completions/everlog"),
            ("For fish", "everlog completions fish > ~/.config/fish/completions/everlog.fish"),
        ],
    ),
    ("man", &[("Read the manual", "everlog man | man -l -"), ("Install one page per command", "everlog man -o ~/.local/share/man/man1")]),
];

const EXIT_CODES: &str = "Exit codes: 0 done and all well; 1 done, and something differs, failed or was found; 2 could not be done.";

/// The whole command line, with groups and examples.
pub fn command() -> Command {
    let mut command = Args::command();
    let groups = groups(&command);
    for (name, examples) in EXAMPLES {
        command = command.mut_subcommand(name, |one| one.after_long_help(text_of(examples)));
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}\n");
    command.help_template(template).after_help(format!("`everlog COMMAND --help` has examples.\n{EXIT_CODES}"))
}

/// The manual: the name and the text of one page per command.
///
/// # Errors
/// When a page cannot be made, which none causes.
pub fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    let mut command = command().disable_help_subcommand(true);
    command.build();
    add_pages(&command, &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    command.get_subcommands().filter(|one| !one.is_hide_set()).try_for_each(|one| add_pages(one, pages))?;
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    Ok(())
}

/// The commands of each group with what they do, as `--help` lists them.
fn groups(command: &Command) -> String {
    let about = |name: &str| match command.find_subcommand(name) {
        Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
        None => "Print this help, or the help of a command".to_owned(),
    };
    let width = GROUPS.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in *names {
            text.push_str(&format!("  {name:width$}  {}\n", about(name)));
        }
        text.push('\n');
    }
    text
}

fn text_of(examples: &[Example]) -> String {
    let lines = examples.iter().map(|(what, typed)| format!("  {what}:\n    {typed}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as a shell makes them, as far as the examples need it.
    fn words(typed: &str) -> Vec<String> {
        let before_redirection = typed.split([' ']).take_while(|word| !matches!(*word, ">" | "|"));
        before_redirection.map(|word| word.trim_matches(['\'', '"']).to_owned()).collect()
    }

    #[test]
    fn every_command_is_in_one_group_and_has_examples_that_parse() {
        let commands: Vec<String> = Args::command().get_subcommands().map(|found| found.get_name().to_owned()).collect();
        for name in &commands {
            let times = GROUPS.iter().flat_map(|(_, names)| names.iter()).filter(|held| *held == name).count();
            assert_eq!(times, 1, "{name} is in {times} groups");
            let examples = EXAMPLES.iter().find(|(held, _)| held == name).map_or(&[][..], |(_, examples)| examples);
            assert!((2..=3).contains(&examples.len()), "{name} has {} examples", examples.len());
            for (_, typed) in examples {
                let parsed = command().try_get_matches_from(words(typed)).map_err(|error| error.to_string());
                let parsed = parsed.unwrap_or_else(|error| panic!("{typed}\n{error}"));
                assert_eq!(parsed.subcommand_name(), Some(name.as_str()), "{typed}");
            }
        }
        let known = |name: &str| name == "help" || commands.iter().any(|command| command == name);
        assert!(GROUPS.iter().flat_map(|(_, names)| names.iter()).all(|name| known(name)));
    }

    #[test]
    fn examples_are_in_the_long_help_and_not_in_the_short_one() {
        let mut command = command();
        let migrate = command.find_subcommand_mut("migrate").unwrap();
        assert!(migrate.render_long_help().to_string().contains("Examples:"));
        assert!(!migrate.render_help().to_string().contains("Examples:"));
    }
}
