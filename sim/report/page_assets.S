// The bytes behind page_assets.hpp. CHART_LIBRARY is a path that the build found.
.macro asset name, file
  .global fairwater_\name
  .global fairwater_\name\()_end
fairwater_\name:
  .incbin "\file"
fairwater_\name\()_end:
.endm

.section .rodata
asset page_style, "sim/report/page.css"
asset page_script, "sim/report/page.js"
asset chart_library, CHART_LIBRARY

// Without this note the linker would make the stack executable.
.section .note.GNU-stack, "", %progbits
