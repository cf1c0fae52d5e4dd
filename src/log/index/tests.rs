//! Runs against the plain way to find them, on trees of every form.

use super::*;

/// Returns the runs of a path, found by walking all of it.
fn walked(index: &Index, node: Seq) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for seq in index.path(node, usize::MAX).unwrap().nodes {
        let (start, end) = index.span(seq).unwrap();
        match runs.last_mut() {
            Some(run) if index.follows(run.1, seq) => *run = Run(run.0, seq, run.2, end),
            _ => runs.push(Run(seq, seq, start, end)),
        }
    }
    runs
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Returns a tree with branches, other lines, long gaps, and repeats.
fn tree(seed: u64) -> (Index, Vec<Seq>) {
    let mut dice = Dice(seed);
    let mut index = Index::new();
    let mut nodes = vec![Seq::ROOT];
    for _ in 0..300 {
        let recent = nodes.len().saturating_sub(dice.below(4) + 1);
        let parent = if dice.below(6) == 0 { nodes[dice.below(nodes.len())] } else { nodes[recent] };
        match dice.below(10) {
            0 => {
                for _ in 0..dice.below(3) * 40 {
                    index.push(EventKind::Damage, None, None, 3);
                }
            }
            1 => {
                let last = nodes[dice.below(nodes.len())];
                let mut first = last;
                while dice.below(5) > 0 && index.kind(index.parent(first)) == EventKind::Message {
                    first = index.parent(first);
                }
                if index.kind(last) == EventKind::Message {
                    nodes.push(index.push(EventKind::Repeat, Some(parent), Some((first, last)), 7));
                }
            }
            2 => nodes.push(index.push(EventKind::Label, Some(parent), None, 5)),
            _ => nodes.push(index.push(EventKind::Message, Some(parent), None, 11)),
        }
    }
    (index, nodes)
}

#[test]
fn the_runs_of_every_path_are_those_of_the_walk() {
    let mut several = 0;
    for seed in 0..60 {
        let (index, nodes) = tree(seed);
        index.check_repeats().unwrap();
        for node in nodes {
            let runs = index.runs(node).unwrap();
            assert_eq!(runs, walked(&index, node), "seed {seed}, node {node}");
            assert_eq!(runs.len(), index.run_count(node) as usize, "seed {seed}, node {node}");
            several += usize::from(runs.len() > 3);
        }
    }
    assert!(several > 1000, "the trees have no branches");
}

#[test]
fn a_repeat_of_what_is_no_run_of_messages_is_found_without_walking() {
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..20 {
        let (index, nodes) = tree(seed);
        let mut dice = Dice(seed + 1000);
        for _ in 0..40 {
            let last = nodes[dice.below(nodes.len())];
            let above = (0..dice.below(6)).fold(last, |node, _| index.parent(node));
            let first = if dice.below(3) > 0 { above } else { Seq::new(dice.below(index.starts.len()) as u32) };
            let mut index = index.clone();
            let repeat = index.push(EventKind::Repeat, Some(Seq::ROOT), Some((first, last)), 7);
            let walk = index.path(repeat, usize::MAX);
            assert_eq!(index.check_repeats().is_ok(), walk.is_ok(), "seed {seed}: {first} to {last}");
            if walk.is_ok() {
                right += 1
            } else {
                wrong += 1
            }
            // Whatever it names, finding its runs comes to an end.
            let _ = index.runs(repeat);
        }
    }
    assert!(wrong > 100 && right > 100, "{wrong} wrong, {right} right");
}
