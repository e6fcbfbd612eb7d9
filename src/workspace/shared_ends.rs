//! What two texts share at their beginning and at their end.

/// Bytes that are compared at once.
const CHUNK: usize = 64;

/// How many bytes two texts share at the beginning, and how many of the rest at the end, both on character boundaries.
pub(super) fn shared_ends(one: &str, other: &str) -> (usize, usize) {
    let mut head = shared_head(one.as_bytes(), other.as_bytes());
    while !(one.is_char_boundary(head) && other.is_char_boundary(head)) {
        head -= 1;
    }
    let (one, other) = (one.get(head..).unwrap_or_default(), other.get(head..).unwrap_or_default());
    let mut tail = shared_tail(one.as_bytes(), other.as_bytes());
    while !(one.is_char_boundary(one.len() - tail) && other.is_char_boundary(other.len() - tail)) {
        tail -= 1;
    }
    (head, tail)
}

fn shared_head(one: &[u8], other: &[u8]) -> usize {
    let chunks = one.chunks_exact(CHUNK).zip(other.chunks_exact(CHUNK));
    let whole = CHUNK * chunks.take_while(|(one, other)| one == other).count();
    let rest = one.iter().zip(other).skip(whole);
    whole + rest.take_while(|(one, other)| one == other).count()
}

fn shared_tail(one: &[u8], other: &[u8]) -> usize {
    let chunks = one.rchunks_exact(CHUNK).zip(other.rchunks_exact(CHUNK));
    let whole = CHUNK * chunks.take_while(|(one, other)| one == other).count();
    let rest = one.iter().rev().zip(other.iter().rev()).skip(whole);
    whole + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_shared_once_and_no_character_is_cut() {
        assert_eq!(shared_ends("aa", "aaa"), (2, 0));
        assert_eq!(shared_ends("", "a"), (0, 0));
        // These characters share their first bytes, those their last.
        assert_eq!(shared_ends("x😀y", "x😁y"), (1, 1));
        assert_eq!(shared_ends("é", "\u{129}"), (0, 0));
    }

    proptest::proptest! {
        #[test]
        fn chunks_make_no_difference(
            head in "[aé]{0,90}", one in "[bé]{0,3}", other in "[cé]{0,3}", tail in "[aé]{0,90}",
        ) {
            let (one, other) = (format!("{head}{one}{tail}"), format!("{head}{other}{tail}"));
            let naive_head: usize =
                one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
            let (one_rest, other_rest) = (&one[naive_head..], &other[naive_head..]);
            let ends = one_rest.chars().rev().zip(other_rest.chars().rev());
            let naive_tail: usize = ends.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
            proptest::prop_assert_eq!(shared_ends(&one, &other), (naive_head, naive_tail));
        }
    }
}
