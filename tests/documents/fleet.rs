//! The files for schedulers: their form, as far as it can be checked without
//! them, and their command lines, run part by part. The store that comes of them
//! is the one of a single run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::bench::{Bench, lines};
use support::scenarios::contents;

fn fleet() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/fleet")
}

fn job(name: &str) -> Value {
    serde_yaml_ng::from_str(&fs::read_to_string(fleet().join(name)).unwrap()).unwrap()
}

fn source() -> Bench {
    let bench = Bench::new();
    for n in 0..30 {
        bench.conversation(&format!("s{n:02}"), &lines(2 + n % 4));
    }
    assert!(bench.migrate(&[]).status.success());
    bench
}

/// Runs a command of a scheduler's with `everlog` on its path.
fn run(command: &mut Command) {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_everlog"));
    let path = format!("{}:{}", own.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let done = command.env("PATH", path).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", support::stderr(&done));
}

/// The command line of a job's only container, with its volume at a folder.
fn command_of(job: &Value, data: &Path) -> Vec<String> {
    let pod = &job["spec"]["template"]["spec"];
    let [container] = pod["containers"].as_array().unwrap().as_slice() else { panic!("another number of containers") };
    assert_eq!(container["volumeMounts"][0]["mountPath"], "/data");
    assert_eq!(container["volumeMounts"][0]["name"], pod["volumes"][0]["name"]);
    let words = ["command", "args"].into_iter().flat_map(|part| container[part].as_array().unwrap());
    words.map(|word| word.as_str().unwrap().replace("/data/", &format!("{}/", data.display()))).collect()
}

#[test]
fn the_pods_of_an_indexed_job_make_the_store_of_a_single_run() {
    let (parts, compact) = (job("kubernetes.yaml"), job("kubernetes-compact.yaml"));
    for job in [&parts, &compact] {
        assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
        assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], "Never");
    }
    let spec = &parts["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    let completions = spec["completions"].as_u64().unwrap();
    assert_eq!(spec["parallelism"], completions);
    // Without a limit for each index, `FailIndex` is refused.
    assert!(spec["backoffLimitPerIndex"].as_u64().is_some() && spec["backoffLimit"].is_null());
    let rule = &spec["podFailurePolicy"]["rules"][0];
    assert_eq!((&rule["action"], &rule["onExitCodes"]["values"][0]), (&"FailIndex".into(), &1.into()));
    assert_eq!(rule["onExitCodes"]["containerName"], spec["template"]["spec"]["containers"][0]["name"]);

    let bench = source();
    let data = bench.path("data");
    fs::create_dir_all(data.join("reports")).unwrap();
    support::copy_tree(&bench.source(), &data.join("sessions"));
    let words = command_of(&parts, &data);
    assert!(words.last().unwrap().contains(&format!("/{completions}\"")), "{words:?}");
    for index in (0..completions).rev() {
        run(Command::new(&words[0]).args(&words[1..]).env("JOB_COMPLETION_INDEX", index.to_string()));
    }
    let words = command_of(&compact, &data);
    run(Command::new(&words[0]).args(&words[1..]));
    let single = bench.path("single");
    run(Command::new("everlog").args(["migrate", data.join("sessions").to_str().unwrap(), "-o", single.to_str().unwrap()]));
    assert!(without_place(&data.join("history")) == without_place(&single));
}

/// What is in a store, its sources aside: they have the path from the store on.
fn without_place(store: &Path) -> Vec<(String, Vec<u8>)> {
    contents(store).into_iter().filter(|(name, _)| name != ".everlog/sources.json").collect()
}

#[test]
fn the_tasks_of_an_array_make_the_store_of_a_single_run() {
    let script = fleet().join("slurm.sh");
    let bench = source();
    let (store, tasks) = (bench.path("history"), 5);
    for task in 1..=tasks {
        run(Command::new(&script)
            .args([bench.source(), store.clone()])
            .env("SLURM_ARRAY_TASK_ID", task.to_string())
            .env("SLURM_ARRAY_TASK_COUNT", tasks.to_string()));
    }
    run(Command::new("everlog").args(["store", "compact", store.to_str().unwrap()]));
    assert!(contents(&store) == contents(&bench.dest()));
    // What `sbatch` reads stands before the first command.
    let text = fs::read_to_string(&script).unwrap();
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
    assert!(head.iter().filter(|line| line.starts_with("#SBATCH --")).count() >= 3, "{head:?}");
    // The page names the files that there are.
    let page = fs::read_to_string(fleet().join("../../docs/src/howto/fleet.md")).unwrap();
    for file in ["kubernetes.yaml", "kubernetes-compact.yaml", "slurm.sh"] {
        assert!(page.contains(&format!("packaging/fleet/{file}")), "{file}");
    }
}
