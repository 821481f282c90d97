"""What is ours in Numba's compiler: loops that are only copied into others, and quicker comparisons."""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NativeLowering


def _chosen(config: TargetConfig) -> dict[str, Any]:
    """The settings of Numba's compiler that are not its defaults."""
    options = config.options  # type: ignore[attr-defined]
    return {name: value for name, value in config._values.items() if value != options[name].default}


def _are_equal(one: TargetConfig, other: object) -> bool:
    """Whether two settings of Numba's compiler are the same.

    It asks thousands of times per loop and compares all options each time, the unset ones too, which is up to
    half of a compilation. Those that are set decide.
    """
    if not isinstance(other, TargetConfig):
        return NotImplemented
    return one._values == other._values or _chosen(one) == _chosen(other)


if hasattr(TargetConfig, "_values"):  # as in the versions of Numba that are known
    TargetConfig.__eq__ = _are_equal  # type: ignore[method-assign]
    TargetConfig.__hash__ = lambda self: hash(frozenset(_chosen(self)))  # type: ignore[method-assign]


class _InnerLibrary(JITCodeLibrary):
    """Code that is only copied into other code: it has no address, and is optimised there."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _NoCode(str):
    """The name of a loop that has no code of its own; to compare it with anything is refused."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"The loop {self} has no code of its own: only compiled loops may call it.")


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    """Lower to LLVM's language, and no further."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function; Numba knows it by an entry point, for which any method of C serves."""
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        entry = [_NoCode(state.func_id.func_qualname)].count  # compares what Python hands over
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


class InnerCompiler(CompilerBase):
    """Numba's compiler for loops that only other loops call.

    Each is optimised and translated with the loops that it is copied into, not by itself before: that takes
    a third less time. What it was translated to is not kept on disk, only what it was copied into.
    """

    def define_pipelines(self) -> list[Any]:
        """The passes of a loop, but for the last step."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_InnerLowering if each is NativeLowering else each, name) for each, name in passes.passes
        ]
        passes._finalized = False
        passes.finalize()
        return [passes]
