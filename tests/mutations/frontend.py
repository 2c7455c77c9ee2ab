"""Faults in what the front end remembers of the world."""

from .mutation import Mutation

_ABSTRACT = "tests/model/test_abstract_classes.py::"
_CHANGED = "sharedoa/frontend/changed_methods.py"
_CONTEXT = "sharedoa/frontend/context.py"
_DEPENDENCIES = "sharedoa/frontend/dependencies.py"
_KEPT = "sharedoa/frontend/kept_translations.py"
_VALUE_DEFAULTS = "tests/model/test_value_defaults.py::"
_KEPT_TEST = "tests/frontend/test_kept_translations.py"


MUTATIONS = (
    Mutation(
        "all methods of values are kernels'", "sharedoa/model/structs.py",
        'and (name.startswith("__") or not is_of_the_host(function))', "",
        "a method of a value that gives text cannot be called at all",
        ("tests/model/test_values.py::test_methods_with_types_of_the_host_are_its_own",),
    ),
    Mutation(
        "nobody looks at operators that do not fit", "sharedoa/frontend/program.py",
        'self.dependencies.append(NameDependency("attribute", cls, name, own))\n', "pass\n",
        "a kernel goes on with another operator than CPython runs", (_KEPT_TEST,),
    ),
    Mutation(
        "objects have no abs", "sharedoa/frontend/library.py",
        "    if isinstance(value.type, ReferenceType):\n        from .calls",
        "    if False:\n        from .calls",
        "abs(shape) is refused, where all operators are promised",
        ("tests/model/test_members.py::test_members",),
    ),
    Mutation(
        "all plain methods are kernels'", "sharedoa/model/members.py",
        "return None if is_of_the_host(value) else", "return",
        "a method that gives text cannot be called at all",
        ("tests/model/test_members.py::test_methods_with_types_of_the_host_are_its_own",),
    ),
    Mutation(
        "modules are looked for where classes are defined", "sharedoa/model/functions.py",
        "inspect.getblock(text_now(function).lines[code.co_firstlineno - 1 :])",
        "inspect.getsourcelines(code)[0]",
        "importing a program takes a third longer",
        ("tests/model/test_classes.py::test_no_module_is_looked_for_where_a_class_is_defined",),
    ),
    Mutation(
        "Optional of a number is that number", "sharedoa/model/annotations.py",
        "if isinstance(found, ReferenceType):", "if True:",
        "a field x: Optional[f32] is never None, without a word",
        ("tests/model/test_refused_classes.py::test_fields_whose_type_is_no_type",),
    ),
    Mutation(
        "unsigned numbers are printed as C does", "sharedoa/frontend/texts.py",
        """if type.kind == "uint" and set(spec)""", """if False and set(spec)""",
        "{n:+} of a u32 has no sign", ("tests/runtime/test_saying.py::test_prints",),
    ),
    Mutation(
        "variables have as few bits as some of their values", _CONTEXT,
        "return type.bits < weak_int.bits or (", "return (",
        "n = levels[i] of u8 and then n = k * 100 is 44 where k is 3",
        ("tests/frontend/test_widening.py::test_as_in_cpython",),
    ),
    Mutation(
        "u64 holds what is negative", _CONTEXT,
        " or (type == u64 and not nonnegative)", "",
        "a variable that is a u64 in one place and -1 in another is 2**64 - 1",
        ("tests/frontend/test_widening.py::test_what_no_type_holds_is_refused",),
    ),
    Mutation(
        "a constant of two variables is any int", "sharedoa/frontend/statements.py",
        " or is_pure(value):", ":",
        "`s = t = 0` before loops over numbers of 32 bits makes sums of 64, which no threads share",
        ("tests/frontend/test_widening.py::test_constants_take_the_other_type",),
    ),
    Mutation(
        "constants in a conditional fit every type", _CONTEXT,
        "not low <= each.value <= high", "False",
        "70000 in one case and a number of 16 bits in another wraps",
        ("tests/frontend/test_widening.py::test_as_in_cpython",),
    ),
    Mutation(
        "declared variables are widened", _CONTEXT,
        "if not is_declared and may_wrap(", "if may_wrap(",
        "n: u64 = b[0] and then n = k is refused",
        ("tests/frontend/test_widening.py"
         "::test_what_is_declared_without_a_sign_takes_any_int",),
    ),
    Mutation(
        "items of tuples have as few bits as some of their values", _CONTEXT,
        "return any(may_wrap(a, b, False)", "return False and any(may_wrap(a, b, False)",
        "an item of a variable tuple wraps in silence",
        ("tests/frontend/test_widening.py::test_what_no_type_holds_is_refused",),
    ),
    Mutation(
        "the lesser of a u64 and an int is a u64", "sharedoa/frontend/library.py",
        'type: Type = u64 if operator == "gt" else weak_int', "type: Type = u64",
        "min(count, -1) is 2**64 - 1",
        ("tests/frontend/test_number_calls.py"
         "::test_the_lesser_and_the_greater_one_of_a_count_and_an_int",),
    ),
    Mutation(
        "numbers beyond 64 bits with a sign are in no range", "sharedoa/frontend/comparisons.py",
        "(unsigned_bound(each) or each for each in bounds)", "bounds",
        "x in range(n) is False where n is a u64 from 2**63 on",
        ("tests/frontend/test_iteration.py::test_ranges_that_64_bits_with_a_sign_do_not_hold",),
    ),
    Mutation(
        "there is an integer between any ends", "sharedoa/frontend/random_calls.py",
        "        if ends:\n", "        if False:\n",
        "agents[oa.randint(0, 0, seed)] is the first of no agents",
        ("tests/runtime/test_random_numbers.py",),
    ),
    Mutation(
        "the classes that isinstance knows are a list", "sharedoa/frontend/conditions.py",
        "matching = tuple(c for c in cls.concrete() if c.is_subclass_of(known))",
        "matching = [c for c in cls.concrete() if c.is_subclass_of(known)]",
        "a kernel with isinstance within an if is not compiled: unhashable type",
        ("tests/ir/test_idle_threads.py::test_who_asks_what_an_object_is",),
    ),
    Mutation(
        "types of the round before stay", _CONTEXT,
        "if joined is None and name not in self._renewed:", "if False:",
        "m = s + b[k] is refused where b is of i16, and s is 0 and then an i32",
        ("tests/frontend/test_inference.py",),
    ),
    Mutation(
        "text ends at a NUL", "sharedoa/frontend/texts.py",
        """if isinstance(found, str) and "\\0" in found:""", "if False:",
        "print('a\\0b') says a, without a word",
        ("tests/frontend/test_statements.py::test_statements_misused",),
    ),
    Mutation(
        "integers are rounded as floats", "sharedoa/frontend/library.py",
        "if id(target) in _PYTHON_ROUNDING and values[0].type in (weak_int, u64):", "if False:",
        "math.floor(2**53 + 1) is 2**53",
        ("tests/frontend/test_number_calls.py::test_integers_are_rounded_to_themselves",
         "tests/frontend/test_calls.py::test_calls_that_cannot_be"),
    ),
    Mutation(
        "loops with a step of 0 have no rounds", "sharedoa/frontend/iteration.py",
        "may_stand = not isinstance(bounds[2], (tree.Constant, tree.GridSize))",
        "may_stand = False",
        "for k in range(a, b, step[i]) does nothing where CPython fails",
        ("tests/frontend/test_iteration.py::test_a_step_of_0_fails_as_in_cpython",),
    ),
    Mutation(
        "all threads may be less than none", "sharedoa/frontend/statements.py",
        "isinstance(step, tree.GridSize) or (", "(",
        "each access of for k in range(grid(1), n, gridsize(1)) tests whether k is negative",
        ("tests/frontend/test_iteration.py"
         "::test_indices_by_steps_of_all_threads_are_not_negative",),
    ),
    Mutation(
        "steps that are no 0 are tested", "sharedoa/frontend/to_ir.py",
        "    if _is_no_zero(test):\n", "    if False:\n",
        "launches of for k in range(grid(1), n, stride) do not become one, as they may report",
        ("tests/frontend/test_iteration.py::test_steps_that_have_names_need_no_test",),
    ),
    Mutation(
        "any step is no 0", "sharedoa/frontend/to_ir.py",
        "constant_of(zero) == 0 and (is_all_threads or", "constant_of(zero) == 0 and (True or",
        "a loop whose step is 0 does nothing where CPython fails",
        ("tests/frontend/test_iteration.py::test_a_step_of_0_fails_as_in_cpython",),
    ),
    Mutation(
        "loops count to bounds that are no i64", "sharedoa/frontend/iteration.py",
        "if not may_stand and not any(map(unsigned_bound, bounds)):", "if True:",
        "for i in range(n) does nothing where n is a u64 from 2**63 on, and CPython counts",
        ("tests/frontend/test_iteration.py::test_loops_that_64_bits_with_a_sign_do_not_count",),
    ),
    Mutation(
        "code that autoreload changes is looked at with definitions alone",
        "sharedoa/frontend/program.py",
        'if "IPython" in sys.modules and inspect.isfunction(function):', "if False:",
        "in a notebook kernels go on with a method that was edited, and CPython does not",
        ("tests/runtime/test_autoreload.py",),
    ),
    Mutation(
        "methods are Python's own by what is said of self", "sharedoa/model/members.py",
        "[*signature.parameters.values()][1:]]\n    types.append",
        "signature.parameters.values()]\n    types.append",
        "def step(self: Any, ...) cannot override a method of kernels",
        ("tests/model/test_members.py::"
         "test_what_is_said_of_the_object_itself_is_no_type_of_the_host",),
    ),
    Mutation(
        "a method that was changed in place is what it was", _CHANGED,
        "    if user_function(called) is not known:\n        change_function",
        "    if False:\n        change_function",
        "in a notebook kernels go on with a method that was edited, and CPython does not",
        ("tests/runtime/test_autoreload.py::test_edited_twice",),
    ),
    Mutation(
        "a method of a value that was changed in place is what it was", _CHANGED,
        "if is_ours and user_function(called) is not known:", "if False:",
        "in a notebook kernels refuse what was edited",
        ("tests/runtime/test_autoreload.py::test_what_was_edited_runs[sign of a value]",),
    ),
    Mutation(
        "an operator of a value that was changed in place is what it was",
        "sharedoa/frontend/program.py",
        "        if not is_ours(cls):  # another",
        '        if not is_ours(cls) and not name.startswith("__"):  # another',
        "in a notebook kernels refuse an operator that was edited",
        ("tests/runtime/test_autoreload.py::test_what_was_edited_runs[sign of a value]",),
    ),
    Mutation(
        "an initialiser that was changed in place has no source", _CHANGED,
        "elif known.__code__ is not remembered_source(known)[0]:", "elif False:",
        "in a notebook kernels refuse what was edited",
        ("tests/runtime/test_autoreload.py::test_initialisers",),
    ),
    Mutation(
        "a method may get another signature in place", _CHANGED,
        "    if before != after:", "    if False:",
        "kernels pass what the method took before, and CPython what it takes now",
        ("tests/runtime/test_autoreload.py::test_other_methods_are_refused",),
    ),
    Mutation(
        "what stands in a class for a method knows our names", "sharedoa/model/functions.py",
        "names = function.__globals__", "names = globals()",
        "code that autoreload puts there does not find what its module defines",
        ("tests/runtime/test_autoreload.py::test_what_was_edited_runs[global]",),
    ),
    Mutation(
        "what CPython runs is made of a function as it was", "sharedoa/model/functions.py",
        "if form_of is not function.__code__:", "if form_of is None:",
        "annotated local variables of a mixin's method convert as before it was edited",
        ("tests/runtime/test_autoreload.py::test_what_was_edited_runs[mixin]",),
    ),
    Mutation(
        "constants of mixins stay", "sharedoa/frontend/attributes.py",
        "if has_mixins(below.python_class):", "if False:",
        "a kernel keeps what a class that another inherits from held once",
        ("tests/runtime/test_constants.py::test_constants_of_mixins",),
    ),
    Mutation(
        "methods of values may be replaced", "sharedoa/frontend/program.py",
        "if not is_ours(cls):", "if False:",
        "kernels call a method that CPython does not call any more",
        ("tests/runtime/test_constants.py::test_methods_of_values_that_are_replaced",),
    ),
    Mutation(
        "a wrapper without a source has that of what it wraps", "sharedoa/frontend/source.py",
        "inspect.getsourcelines(code)", "inspect.getsourcelines(function)",
        "a wrapper that a library makes by exec does nothing in kernels, without a word",
        ("tests/frontend/test_source.py"
         "::test_a_wrapper_without_a_source_is_not_taken_for_what_it_wraps",),
    ),
    # ------------------------------------------------------------ dependencies
    Mutation(
        "methods that are overridden later", _DEPENDENCIES,
        "        return self == ResolutionDependency.of(self.cls, self.name)",
        "        return True",
        "a subclass that is defined later is called by the old code",
        ("tests/frontend/test_dependencies.py::test_a_direct_call_notices_the_first_override",),
    ),
    Mutation(
        "subclasses that are defined later", _DEPENDENCIES,
        "        return tuple(self.cls.concrete()) == self.concrete", "        return True",
        "isinstance does not know them",
        ("tests/frontend/test_dependencies.py::test_a_type_test_notices_a_subclass",),
    ),
    Mutation(
        "by position what is given by name only", "sharedoa/frontend/calls.py",
        "if len(node.args) > (most := signature.most_by_position):",
        "if len(node.args) > (most := len(signature.names)):",
        "kernels take what CPython refuses",
        ("tests/runtime/test_named_arguments.py::test_refused_in_kernels",),
    ),
    Mutation(
        "operators whose operand is given by name only", "sharedoa/frontend/value_operators.py",
        "len(arguments) == len(signature.types) == signature.most_by_position:",
        "len(arguments) == len(signature.types):",
        "kernels take what CPython refuses",
        ("tests/runtime/test_named_arguments.py::test_refused_in_kernels",),
    ),
    Mutation(
        "captured calls with arrays name their arguments", "sharedoa/runtime/capture.py",
        "names, most = method.signature.names, method.signature.most_by_position",
        "names, most = method.signature.names, 0",
        "a step fails once a method is defined anew with other names of its parameters",
        ("tests/runtime/test_named_arguments.py::test_other_names_when_a_captured_call_runs",),
    ),
    Mutation(
        "defaults of what is never named", "sharedoa/model/functions.py",
        "if place == len(given) < skip + types.most_by_position:", "if False:",
        "CPython refuses a call that leaves such a parameter out",
        ("tests/runtime/test_named_arguments.py::test_parameters_that_are_never_named",),
    ),
    Mutation(
        "overriding methods that take arguments otherwise", "sharedoa/model/object.py",
        "signature.defaults, signature.only_named, signature.never_named",
        "signature.defaults, signature.never_named",
        "kernels pass by name what CPython may pass by position",
        ("tests/runtime/test_named_arguments.py::test_overriding_methods_take_them_alike",),
    ),
    Mutation(
        "by position for many what is given by name only", "sharedoa/runtime/arguments.py",
        "if len(arguments) > signature.most_by_position:",
        "if len(arguments) > len(signature.names):",
        "calls of many objects take what CPython refuses",
        ("tests/runtime/test_named_arguments.py::test_refused_for_many",),
    ),
    Mutation(
        "Final is no constant", "sharedoa/model/lazy_annotations.py",
        'words or ("ClassVar", "Final")', 'words or ("ClassVar",)',
        "RATE: Final = 0.5 is refused",
        (_VALUE_DEFAULTS + "test_final_is_a_constant",),
    ),
    Mutation(
        "kernels know no defaults of values", "sharedoa/frontend/calls.py",
        "struct, struct.defaults)", "struct)",
        "Spring(1) is refused in kernels",
        (_VALUE_DEFAULTS + "test_the_same_everywhere",),
    ),
    Mutation(
        "constants of values stay as they were", "sharedoa/frontend/attributes.py",
        "return _kept_attribute(context, Static(struct.python_class, struct.name), node)",
        'return Static(constant, f"{struct.name}.{node.attr}")',
        "kernels go on with a constant that was changed",
        (_VALUE_DEFAULTS + "test_constants_are_seen_as_they_are_now",),
    ),
    Mutation(
        "mixins have no grad of their own", "sharedoa/model/members.py",
        "name not in GIVES_WAY and hasattr(shared, name)", "hasattr(shared, name)",
        "a property of a mixin by that name is hidden by the adjoints",
        ("tests/gradients/test_one_object.py::test_names_of_the_program_come_first",),
    ),
    Mutation(
        "abstract methods with a body are like others", "sharedoa/model/object.py",
        'is_abstract = not has_body or getattr(function, "__isabstractmethod__", False)',
        "is_abstract = not has_body",
        "there are objects of a class that is abstract",
        (_ABSTRACT + "test_objects_of_classes_that_are_abstract",),
    ),
    Mutation(
        "bodies of abstract methods are not called", "sharedoa/frontend/calls.py",
        "if not method.has_body:", "if method.abstract:",
        "super().step() is refused where CPython runs the body",
        (_ABSTRACT + "test_the_same_everywhere",),
    ),
    Mutation(
        "by position for kernels what is given by name only", "sharedoa/runtime/kernel.py",
        "if not program.source.signature.only_named:", "if True:",
        "launches take what CPython refuses",
        ("tests/runtime/test_named_arguments.py::test_kernels_take_them_by_name",),
    ),
    Mutation(
        "along three axes the extent is one that is never named", "sharedoa/runtime/cpython.py",
        "never_named = 1 + signature.never_named", "never_named = signature.never_named",
        "what stands before a / may be given by name",
        (
            "tests/runtime/test_named_arguments.py::"
            "test_parameters_of_boxes_that_are_never_named",
        ),
    ),
    Mutation(
        "equal constants of another type", _DEPENDENCIES,
        "        return type(now) is type(self.value) and isinstance(now, plain) and repr(now)",
        "        return isinstance(now, plain) and str(now == self.value and self.text)",
        "1, True and 1.0, or 0.0 and -0.0, are taken for the same",
        ("tests/runtime/test_constants.py::test_values_that_are_equal_but_not_the_same",),
    ),
    Mutation(
        "tables that change", _DEPENDENCIES,
        "            array.tobytes() == self.data and array.shape", "            array.shape",
        "an array that is changed in place is read as it was",
        ("tests/runtime/test_constants.py::test_attributes_of_objects",),
    ),
    Mutation(
        "attributes that are computed", "sharedoa/frontend/names.py",
        'return not (hasattr(found, "__set__") or hasattr(found, "__delete__"))', "return True",
        "a kernel keeps what a property once was",
        ("tests/frontend/test_dependencies.py::test_computed_attributes_are_refused",),
    ),
    Mutation(
        "attributes of who answers for himself", "sharedoa/frontend/names.py",
        "if is_ours(kind) or not isinstance(kind.__getattribute__, WrapperDescriptorType):",
        "if is_ours(kind):",
        "a kernel keeps what __getattribute__ once answered",
        ("tests/frontend/test_dependencies.py::test_attributes_that_may_be_computed_are_refused",),
    ),
    Mutation(
        "methods as attributes", "sharedoa/frontend/names.py",
        'return found is not None and not hasattr(found, "__get__")', "return found is not None",
        "a kernel keeps what a property once was",
        ("tests/frontend/test_dependencies.py::test_computed_attributes_are_refused",),
    ),
    Mutation(
        "properties in the place of a named tuple's fields", "sharedoa/frontend/names.py",
        "return is_own and name in", "return name in",
        "a kernel keeps what a property once was",
        (
            "tests/frontend/test_dependencies.py"
            "::test_attributes_that_are_computed_all_the_same_are_refused",
        ),
    ),
    Mutation(
        "attributes that are another one each time", "sharedoa/frontend/names.py",
        "if not (found.current() or inspect.isroutine(value)):", "if False:",
        "a launch looks for code that holds, without end",
        (
            "tests/frontend/test_dependencies.py"
            "::test_attributes_that_are_another_one_each_time_are_refused",
        ),
    ),
    # ------------------------------------------------------- kept translations
    Mutation(
        "functions are translated in each program", _KEPT,
        "            self.about == about\n", "            False\n",
        "methods that several forms of calls run are translated for each, a fifth of a first step",
        (f"{_KEPT_TEST}::test_each_function_is_translated_once",),
    ),
    Mutation(
        "facts of kept translations", _KEPT,
        "all(map(program.holds, self.dependencies))", "True",
        "another kernel has what a name meant when the first one was compiled",
        (f"{_KEPT_TEST}::test_names_are_looked_up_again",),
    ),
    Mutation(
        "answers to kept translations", _KEPT,
        "each.ask(program, *each.given) == each.answer", "[each.ask(program, *each.given)]",
        "another function of the same name is called",
        (f"{_KEPT_TEST}::test_other_functions_of_the_same_name",),
    ),
    Mutation(
        "what a kept translation is about", _KEPT,
        "            self.about == about\n", "            True\n",
        "a way back that a function was given is not taken",
        (f"{_KEPT_TEST}::test_a_way_back_that_was_given_since",),
    ),
    Mutation(
        "what kept translations rest on", "sharedoa/frontend/program.py",
        "            self.dependencies += known.dependencies\n", "",
        "a kernel keeps the constants of functions that another kernel called before",
        (f"{_KEPT_TEST}::test_names_are_looked_up_again",),
    ),
    Mutation(
        "which way back a function has is a fact", "sharedoa/frontend/program.py",
        "append(GradientDependency(function, function.gradient))", "extend(())",
        "kernels that were compiled before do not take the way back that a function was given",
        (f"{_KEPT_TEST}::test_a_way_back_that_was_given_since",),
    ),
    Mutation(
        "what makes objects is named as no method", "sharedoa/frontend/objects.py",
        ".__init__.made", ".made",
        "a class with __init__ and a method made does not compile",
        ("tests/runtime/test_initialisers.py"
         "::test_a_method_that_is_called_as_the_compiler_might_call_its_own",),
    ),
    Mutation(
        "what a kept translation asked is its own", "sharedoa/frontend/program.py",
        "tuple(self.asked)", "self.asked",
        "kernels rest on what they do not call, and are refused for it",
        (f"{_KEPT_TEST}::test_what_a_function_asks_that_was_taken_before_is_its_own",),
    ),
    Mutation(
        "class methods of classes that are no more", "sharedoa/frontend/program.py",
        "(cls or method.owner).made", "method.owner.made",
        "each subclass that is defined anew stays, for what became of a method that it inherits",
        (f"{_KEPT_TEST}::test_what_became_of_class_methods_goes_with_the_class_that_they_are_for",),
    ),
    Mutation(
        "subclasses that another function asked for", "sharedoa/frontend/program.py",
        "        self.dependencies.append(self._subclasses[cls])",
        "            self.dependencies.append(self._subclasses[cls])",
        "isinstance does not know them in the next program",
        (f"{_KEPT_TEST}::test_subclasses_that_another_function_had_asked_for",),
    ),
    # ---------------------------------------------------------------- language
    Mutation(
        "assignments in what may not be evaluated", "sharedoa/frontend/conditions.py",
        "    context.narrowed, context.assigned = saved, surely\n    return values",
        "    context.narrowed = saved\n    return values",
        "a variable of := is read where nothing assigned it",
        ("tests/frontend/test_iteration.py::test_complaints",),
    ),
    Mutation(
        "messages of assertions that hold", "sharedoa/frontend/assertions.py",
        "tree.If(location, failed, [report, *end], [])]", "report]",
        "what a message says is read where the assert holds", ("tests/runtime/test_saying.py",),
    ),
    Mutation(
        "digits of floats in f-strings", "sharedoa/frontend/texts.py",
        "        if value.type == f32 and part.conversion == -1:", "        if False:",
        "f'{x}' has other digits than in CPython", ("tests/runtime/test_saying.py",),
    ),
    Mutation(
        "later assignments to annotated variables", "sharedoa/runtime/annotated_locals.py",
        "        return [node, *self._again(*node.targets)]", "        return node",
        "CPython computes with numbers of another width",
        ("tests/runtime/test_annotated_locals.py",),
    ),
    Mutation(
        "np.minimum of NaN", "sharedoa/frontend/number_calls.py",
        '        test = tree.Logical(boolean, location, "or", test, is_nan)', "        del is_nan",
        "NaN is lost", ("tests/frontend/test_number_calls.py::test_as_in_cpython",),
    ),
    Mutation(
        "constants of None", "sharedoa/frontend/attributes.py",
        "[tree.Require(location, one)]", "[]",
        "None has the constant of some class", ("tests/runtime/test_null_receivers.py",),
    ),
    Mutation(
        "arms that assign", "sharedoa/frontend/to_ir.py",
        "        changed, regions = self.assigned.within(parts), []",
        "        changed, regions = self.assigned.within([]), []",
        "what := assigns within and is lost",
        ("tests/frontend/test_iteration.py::test_what_arms_of_expressions_assign",),
    ),
    Mutation(
        "variables of comprehensions", "sharedoa/frontend/folds.py",
        "own = renamed(node, names)", "own = renamed(node, {})",
        "they are those of the function",
        ("tests/frontend/test_iteration.py::test_what_is_evaluated_and_how_often[cpu-False]",),
    ),
    Mutation(
        "loops that nobody leaves", "sharedoa/frontend/folds.py",
        "            if left is not None:\n", "            if False:\n",
        "any goes on after what it looks for",
        ("tests/frontend/test_iteration.py::test_what_is_evaluated_and_how_often[cpu-False]",),
    ),
)  # fmt: skip
