//! What is too large for a message and travels as a memfd: the program to start, and filters.

use crate::wire::Malformed;

/// The program that the waiting process becomes.
///
/// Layout: `argc: u32`, `envc: u32` (little-endian), then the strings, each ended by a NUL byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub env: Vec<Vec<u8>>,
}

impl Program {
    /// The bytes of the memfd.
    ///
    /// # Errors
    ///
    /// `Malformed` where a string holds a NUL byte or there is no program name.
    pub fn encode(&self) -> Result<Vec<u8>, Malformed> {
        let count = |list: &[Vec<u8>]| u32::try_from(list.len()).map_err(|_| Malformed);
        if self.argv.is_empty() {
            return Err(Malformed);
        }
        // In one piece: what is moved leaves a copy behind, and a variable may be a secret.
        let strings = self.argv.iter().chain(&self.env);
        let mut bytes = Vec::with_capacity(8 + strings.map(|s| s.len() + 1).sum::<usize>());
        bytes.extend(count(&self.argv)?.to_le_bytes());
        bytes.extend(count(&self.env)?.to_le_bytes());
        for string in self.argv.iter().chain(&self.env) {
            if string.contains(&0) {
                return Err(Malformed);
            }
            bytes.extend(string);
            bytes.push(0);
        }
        Ok(bytes)
    }
}

/// A system call filter and what its notifications mean.
///
/// Layout: `instructions: u32`, `fatal: u32` (little-endian), the instructions as the kernel's
/// `sock_filter` (8 bytes each: `code: u16, jt: u8, jf: u8, k: u32`), then the numbers of the
/// fatal system calls (`u32` each). Any other notified call is noted and refused with `EPERM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub instructions: Vec<[u8; 8]>,
    pub fatal: Vec<u32>,
}

impl Filter {
    /// The bytes of the memfd.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        let mut bytes = Vec::new();
        bytes.extend(count(self.instructions.len()));
        bytes.extend(count(self.fatal.len()));
        bytes.extend(self.instructions.iter().flatten());
        bytes.extend(self.fatal.iter().flat_map(|nr| nr.to_le_bytes()));
        bytes
    }

    /// Reads what [`Filter::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (head, rest) = bytes.split_at_checked(8).ok_or(Malformed)?;
        let word = |at: usize| {
            head[at..at + 4]
                .try_into()
                .map(u32::from_le_bytes)
                .map_err(|_| Malformed)
        };
        let instructions = word(0)? as usize;
        let fatal = word(4)? as usize;
        let (code, numbers) = rest.split_at_checked(instructions * 8).ok_or(Malformed)?;
        if numbers.len() != fatal * 4 {
            return Err(Malformed);
        }
        let mut filter = Self {
            instructions: Vec::with_capacity(instructions),
            fatal: Vec::with_capacity(fatal),
        };
        for chunk in code.chunks_exact(8) {
            filter
                .instructions
                .push(chunk.try_into().map_err(|_| Malformed)?);
        }
        for chunk in numbers.chunks_exact(4) {
            filter.fatal.push(
                chunk
                    .try_into()
                    .map(u32::from_le_bytes)
                    .map_err(|_| Malformed)?,
            );
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_survives_its_memfd() {
        let filter = Filter {
            instructions: vec![[1; 8], [2; 8]],
            fatal: vec![175, 313],
        };
        assert_eq!(Filter::decode(&filter.encode()), Ok(filter.clone()));
        assert_eq!(Filter::decode(&filter.encode()[1..]), Err(Malformed));
    }

    #[test]
    fn a_nul_byte_cannot_hide_in_an_argument() {
        let program = Program {
            argv: vec![b"a\0b".to_vec()],
            env: vec![],
        };
        assert_eq!(program.encode(), Err(Malformed));
    }
}
