//! How many shapes a drawing becomes when every `use` is drawn.

use super::super::markup::Tag;
use std::collections::HashMap;

/// More shapes than any plot has.
const SHAPES_MAX: u64 = 1_000_000;
const ROUNDS: usize = 40;

struct Node {
    parent: usize,
    /// What a `use` here draws once more.
    target: Option<String>,
}

/// The tree of elements, as far as copies matter.
#[derive(Default)]
pub(super) struct Uses {
    nodes: Vec<Node>,
    open: Vec<usize>,
    ids: HashMap<String, usize>,
    any: bool,
}

impl Uses {
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        let at = self.nodes.len();
        if let Some(id) = tag.attribute("id") {
            self.ids.insert(id.to_owned(), at);
        }
        let copies = matches!(
            &*tag.name,
            "use" | "pattern" | "mask" | "marker" | "feimage"
        );
        let address = tag
            .attributes
            .iter()
            .find(|(key, _)| copies && (key == "href" || key.ends_with(":href")));
        let target = address
            .and_then(|(_, value)| value.trim().strip_prefix('#'))
            .map(str::to_owned);
        self.any |= target.is_some();
        let parent = self.open.last().copied().unwrap_or(at);
        self.nodes.push(Node { parent, target });
        self.open.push(at);
    }

    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    /// Whether drawing it all would take too many shapes.
    pub(super) fn explodes(&self) -> bool {
        if !self.any {
            return false;
        }
        let targets: Vec<Option<usize>> = self
            .nodes
            .iter()
            .map(|node| {
                node.target
                    .as_ref()
                    .and_then(|id| self.ids.get(id))
                    .copied()
            })
            .collect();
        let mut weights = vec![1_u64; self.nodes.len()];
        let bound = SHAPES_MAX.max(20 * self.nodes.len() as u64);
        for _ in 0..ROUNDS {
            let mut next = vec![1_u64; self.nodes.len()];
            // A child stands behind its parent: from the end on, every child is whole.
            for at in (0..self.nodes.len()).rev() {
                if let Some(target) = targets[at] {
                    next[at] = next[at].saturating_add(weights[target]);
                }
                let parent = self.nodes[at].parent;
                if parent != at {
                    next[parent] = next[parent].saturating_add(next[at]);
                }
            }
            if next.iter().any(|weight| *weight > bound) {
                return true;
            }
            if next == weights {
                return false;
            }
            weights = next;
        }
        false
    }
}
