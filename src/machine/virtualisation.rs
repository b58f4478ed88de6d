//! Finds out whether the machine is real: hypervisors and containers, as far as they can be recognised.

use super::text;
use std::path::Path;

/// The value in a record when nothing points to a hypervisor or a container.
pub const NONE_SEEN: &str = "none seen";

/// What the machine reveals about its hypervisor and container.
#[derive(Default)]
struct Signs {
    /// The contents of /proc/cpuinfo, as far as they were read.
    cpuinfo: Option<String>,
    /// The vendor and the product in the firmware tables.
    vendor: Option<String>,
    product: Option<String>,
    /// The names of the clock sources.
    clocks: Option<String>,
    xen: bool,
    /// The kind of container, or the file that points to one. Images unpacked into a virtual machine keep
    /// /.dockerenv, so the reader must see what the statement is based on.
    container: Option<String>,
}

/// Returns a description such as "container (docker) in a KVM virtual machine (QEMU Standard PC)", or
/// [`NONE_SEEN`] if no sign was found, or `None` if not even /proc/cpuinfo could be read.
pub(super) fn capture() -> Option<String> {
    let signs = Signs {
        cpuinfo: text("/proc/cpuinfo"),
        vendor: text("/sys/class/dmi/id/sys_vendor"),
        product: text("/sys/class/dmi/id/product_name"),
        clocks: text("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
        xen: Path::new("/proc/xen").exists(),
        container: container(),
    };
    signs.describe()
}

fn container() -> Option<String> {
    let marker = |path: &'static str| Path::new(path).exists().then(|| path.to_owned());
    let named = text("/run/systemd/container").or_else(|| text("/run/host/container-manager"));
    named.or_else(|| marker("/.dockerenv")).or_else(|| marker("/run/.containerenv"))
}

impl Signs {
    fn describe(&self) -> Option<String> {
        match (&self.container, self.machine()) {
            (Some(container), Some(machine)) => Some(format!("container ({container}) in a {machine}")),
            (Some(container), None) => Some(format!("container ({container})")),
            (None, None) => self.cpuinfo.as_ref().map(|_| NONE_SEEN.to_owned()),
            (None, machine) => machine,
        }
    }

    fn machine(&self) -> Option<String> {
        let named = self.hypervisor();
        // On x86 a CPU flag decides. Elsewhere the firmware tables must do, but some vendors of virtual
        // machines also rent out real ones under the same name.
        let flags = self.cpuinfo.as_deref().and_then(flags);
        let metal = self.product.as_deref().is_some_and(|product| product.ends_with(".metal"));
        let virtual_machine = match flags {
            Some(flags) => self.xen || flags.split_whitespace().any(|flag| flag == "hypervisor"),
            None => named.is_some() && !metal,
        };
        if !virtual_machine {
            return None;
        }
        let name = named.map_or_else(String::new, |name| format!("{name} "));
        let product = self.firmware().map_or_else(String::new, |firmware| format!(" ({firmware})"));
        Some(format!("{name}virtual machine{product}"))
    }

    fn hypervisor(&self) -> Option<&'static str> {
        // The first list is for the firmware's names, the second for clock sources that exist only under one
        // hypervisor.
        const FIRMWARE: &[(&str, &str)] = &[
            ("VMware", "VMware"),
            ("innotek", "VirtualBox"),
            ("VirtualBox", "VirtualBox"),
            ("Microsoft Corporation Virtual Machine", "Hyper-V"),
            ("Xen", "Xen"),
            ("HVM domU", "Xen"),
            ("Parallels", "Parallels"),
            ("bhyve", "bhyve"),
            ("Apple Virtualization", "Apple"),
            ("KVM", "KVM"),
            ("Amazon EC2", "KVM"),
            ("Google Compute Engine", "KVM"),
            ("QEMU", "QEMU"),
        ];
        const CLOCKS: &[(&str, &str)] = &[("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
        let find = |text: &str, names: &[(&str, &'static str)]| {
            names.iter().find(|(sign, _)| text.contains(sign)).map(|(_, name)| *name)
        };
        let clock = self.clocks.as_deref().and_then(|clocks| find(clocks, CLOCKS));
        let firmware = self.firmware().and_then(|firmware| find(&firmware, FIRMWARE));
        self.xen.then_some("Xen").or(clock).or(firmware)
    }

    /// Returns the vendor and the product without additions in brackets.
    fn firmware(&self) -> Option<String> {
        let words = [self.vendor.as_deref(), self.product.as_deref()].into_iter().flatten();
        let short = words.map(|word| word.split_once(" (").map_or(word, |(head, _)| head));
        let text = short.collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    }
}

/// Returns the flags of the first CPU; only x86 has them under this name.
fn flags(cpuinfo: &str) -> Option<&str> {
    let (_, flags) =
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "flags")?;
    Some(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn guest() -> Signs {
        Signs { cpuinfo: own("processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n"), ..Signs::default() }
    }

    #[test]
    fn virtual_machines_are_named() {
        assert_eq!(guest().describe(), own("virtual machine"));
        assert_eq!(Signs { clocks: own("tsc kvm-clock"), ..guest() }.describe(), own("KVM virtual machine"));
        let product = own("Standard PC (i440FX + PIIX, 1996)");
        let signs = Signs { vendor: own("QEMU"), product, clocks: own("kvm-clock tsc"), ..guest() };
        assert_eq!(signs.describe(), own("KVM virtual machine (QEMU Standard PC)"));
        let signs =
            Signs { vendor: own("Microsoft Corporation"), product: own("Virtual Machine"), ..guest() };
        assert_eq!(signs.describe(), own("Hyper-V virtual machine (Microsoft Corporation Virtual Machine)"));
        assert_eq!(Signs { xen: true, ..guest() }.describe(), own("Xen virtual machine"));
    }

    #[test]
    fn real_machines_and_unknown_ones_are_told_apart() {
        let real = Signs { cpuinfo: own("flags : fpu"), vendor: own("Amazon EC2"), ..Signs::default() };
        assert_eq!(real.describe(), own(NONE_SEEN));
        assert_eq!(Signs::default().describe(), None);
    }

    #[test]
    fn without_flags_the_firmware_decides() {
        let arm = |product| Signs {
            cpuinfo: own("CPU part : 1"),
            vendor: own("Amazon EC2"),
            product: own(product),
            ..Signs::default()
        };
        assert_eq!(arm("m6g.large").describe(), own("KVM virtual machine (Amazon EC2 m6g.large)"));
        assert_eq!(arm("m6g.metal").describe(), own(NONE_SEEN));
    }

    #[test]
    fn containers_are_added() {
        assert_eq!(
            Signs { container: own("lxc"), ..guest() }.describe(),
            own("container (lxc) in a virtual machine")
        );
        assert_eq!(
            Signs { container: own("/.dockerenv"), ..Signs::default() }.describe(),
            own("container (/.dockerenv)")
        );
    }
}
