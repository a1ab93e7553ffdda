//! Builds only if nothing that `kraft-core` and `kraft-wire` depend on links the standard library, which would bring a
//! second panic handler.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr::null_mut;

use kraft_core as _;
use kraft_wire as _;

/// Nothing runs here, so nothing is ever handed out.
struct NoMemory;

// SAFETY: returning null is how an allocator says that it has no memory, and what was never handed out never comes back.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _layout: Layout) -> *mut u8 {
        null_mut()
    }

    unsafe fn dealloc(&self, _pointer: *mut u8, _layout: Layout) {}
}

#[global_allocator]
static ALLOCATOR: NoMemory = NoMemory;

#[panic_handler]
fn panic(_info: &PanicInfo<'_>) -> ! {
    loop {}
}
