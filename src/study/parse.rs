//! Parsers of command-line values that more than one study takes.

/// Parses a page size in bytes: a power of two from 512 to 65536.
///
/// # Errors
/// Says what was expected.
pub fn page_size(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(n) if n.is_power_of_two() && (512..=65_536).contains(&n) => Ok(n),
        _ => Err("expected a power of two from 512 to 65536".to_string()),
    }
}

/// Parses a number of bytes, such as `1000000`, `256MiB` or `3.7GiB`.
///
/// # Errors
/// Says what was expected.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        unit => return Err(format!("unknown unit `{unit}`; use KB, MB, GB, KiB, MiB or GiB")),
    };
    let fault = || "expected a number of bytes, with a unit or without, such as 256MiB".to_string();
    if let Ok(number) = digits.parse::<u64>() {
        return number
            .checked_mul(factor)
            .filter(|&n| n <= 1 << 50)
            .ok_or_else(|| "expected at most 1 PiB".to_string());
    }
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(fault)?;
    let total = number * factor as f64;
    if total <= (1_u64 << 50) as f64 { Ok(total as u64) } else { Err("expected at most 1 PiB".to_string()) }
}

/// Parses a percentage such as `1%` or `1` and returns it as a fraction.
///
/// # Errors
/// Says what was expected.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 100.0 => Ok(value / 100.0),
        _ => Err("expected a percentage above 0 and up to 100, such as 1%".to_string()),
    }
}

/// Parses a number of seconds, 0 or more.
///
/// # Errors
/// Says what was expected.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e7).contains(&value) => Ok(value),
        _ => Err("expected a number of seconds, 0 or more".to_string()),
    }
}

/// Parses a number of seconds greater than 0.
///
/// # Errors
/// Says what was expected.
pub fn positive_seconds(text: &str) -> Result<f64, String> {
    match seconds(text) {
        Ok(value) if value > 0.0 => Ok(value),
        _ => Err("expected a number of seconds, more than 0".to_string()),
    }
}

/// Checks a number from a file, which is not bound by the limits of the command line.
///
/// # Errors
/// Gives the name, the value, and the range that it must lie in.
pub fn within(name: &str, value: u64, low: u64, high: u64) -> Result<(), String> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(format!("{name} = {value}: expected {low} to {high}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts() {
        assert_eq!(bytes("256MiB"), Ok(268_435_456));
        assert_eq!(bytes("3.7GiB"), Ok(3_972_844_748));
        assert_eq!(bytes("1000"), Ok(1000));
        for bad in ["", "x", "-1", "1x", "1e5", "NaN", "inf", "99999999999999999999GiB", "2000000GiB"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn page_sizes() {
        assert_eq!(page_size("8192"), Ok(8192));
        for bad in ["0", "1000", "131072", "x"] {
            assert!(page_size(bad).is_err(), "{bad}");
        }
    }
}
