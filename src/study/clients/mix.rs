//! The kinds of statements, and the share of each in a mix.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Inserts one row.
    Insert,
    /// Updates one row by its key.
    Update,
    /// Reads one row by its key.
    Point,
    /// Counts the rows of a range.
    Range,
    /// Reads the first ten rows of a group, by rank.
    Top,
}

impl Kind {
    /// All kinds, in the order of a mix.
    pub const ALL: [Kind; 5] = [Kind::Insert, Kind::Update, Kind::Point, Kind::Range, Kind::Top];

    /// Returns the name used in options and records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Insert => "insert",
            Kind::Update => "update",
            Kind::Point => "point",
            Kind::Range => "range",
            Kind::Top => "top",
        }
    }

    /// Returns whether the kind writes.
    pub fn writes(self) -> bool {
        matches!(self, Kind::Insert | Kind::Update)
    }
}

/// The share of each kind in per cent, in the order of [`Kind::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix([u8; 5]);

impl Mix {
    /// 30 % writes, as the sweep was published; how these are split is not stated there.
    pub const WRITE_HEAVY: Mix = Mix([18, 12, 35, 20, 15]);
    /// 20 % writes, as the million was published.
    pub const READ_HEAVY: Mix = Mix([12, 8, 35, 25, 20]);

    const NAMED: [(&str, Mix); 2] = [("write-heavy", Mix::WRITE_HEAVY), ("read-heavy", Mix::READ_HEAVY)];

    /// Returns the kind for a number below 100.
    pub fn pick(&self, number: u8) -> Kind {
        let mut rest = number;
        for (kind, share) in Kind::ALL.into_iter().zip(self.0) {
            match rest.checked_sub(share) {
                Some(left) => rest = left,
                None => return kind,
            }
        }
        Kind::Top
    }

    /// Returns the share of a kind, in per cent.
    pub fn share(&self, kind: Kind) -> u8 {
        self.0[kind as usize]
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = Mix::NAMED.iter().find(|(_, mix)| mix == self) {
            return f.write_str(name);
        }
        let parts: Vec<String> =
            Kind::ALL.iter().map(|kind| format!("{}={}", kind.name(), self.share(*kind))).collect();
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, mix)) = Mix::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*mix);
        }
        let expected = "expected write-heavy, read-heavy, or shares that add up to 100, such as \
                        insert=18,update=12,point=35,range=20,top=15";
        let mut shares = [None; 5];
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or(expected)?;
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(expected)?;
            let share = share.parse::<u8>().ok().filter(|share| *share <= 100).ok_or(expected)?;
            if shares[kind as usize].replace(share).is_some() {
                return Err(format!("{name} appears twice; {expected}"));
            }
        }
        let shares = shares.map(|share| share.unwrap_or(0));
        match shares.iter().map(|share| u32::from(*share)).sum::<u32>() {
            100 => Ok(Mix(shares)),
            sum => Err(format!("the shares add up to {sum}; {expected}")),
        }
    }
}

impl Serialize for Mix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mix {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_kind() {
        for mix in [Mix::WRITE_HEAVY, Mix::READ_HEAVY] {
            for kind in Kind::ALL {
                let picked = (0..100).filter(|number| mix.pick(*number) == kind).count();
                assert_eq!(picked, usize::from(mix.share(kind)), "{kind:?}");
            }
            assert_eq!(mix.to_string().parse(), Ok(mix));
        }
    }

    #[test]
    fn shares_add_up() {
        let mix: Mix = "point=60,insert=40".parse().unwrap();
        assert_eq!((mix.share(Kind::Point), mix.share(Kind::Top)), (60, 0));
        assert_eq!(mix.to_string().parse(), Ok(mix));
        for bad in
            ["", "insert", "insert=50", "insert=100,insert=0", "delete=100", "insert=-1,point=101", "x=1"]
        {
            assert!(bad.parse::<Mix>().is_err(), "{bad}");
        }
    }
}
