//! CRC-32C (Castagnoli), the checksum of a record batch.

/// The checksum of the concatenation of `parts`.
pub fn crc32c(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(0, |crc, part| crc32c_append(crc, part))
}

/// The checksum of what `crc` is the checksum of, with `bytes` behind it. The checksum of nothing is 0.
#[cfg(feature = "std")]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// The checksum of what `crc` is the checksum of, with `bytes` behind it. The checksum of nothing is 0.
#[cfg(not(feature = "std"))]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    table::append(crc, bytes)
}

/// For targets without the standard library, through which the CPU's own instruction is found.
#[cfg(any(test, not(feature = "std")))]
mod table {
    const POLYNOMIAL_REFLECTED: u32 = 0x82f6_3b78;

    const TABLE: [u32; 256] = table();

    pub(super) fn append(crc: u32, bytes: &[u8]) -> u32 {
        !bytes
            .iter()
            .fold(!crc, |crc, byte| TABLE[(crc as u8 ^ byte) as usize] ^ (crc >> 8))
    }

    const fn table() -> [u32; 256] {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    (value >> 1) ^ POLYNOMIAL_REFLECTED
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_in_any_cut() {
        assert_eq!(crc32c(&[b"123456789"]), 0xe306_9283);
        assert_eq!(crc32c(&[b"1234", b"", b"56789"]), 0xe306_9283);
        assert_eq!(crc32c(&[]), 0);
    }

    #[test]
    fn table_and_instruction_agree() {
        let bytes: [u8; 300] = core::array::from_fn(|index| (index * 7) as u8);
        for length in 0..bytes.len() {
            assert_eq!(
                table::append(5, &bytes[..length]),
                crc32c_append(5, &bytes[..length])
            );
        }
    }
}
