/** A variable without a usable value, and where it is in the text. */
export interface VariableProblem {
  at: number;
  text: string;
}

/**
 * Fills `${NAME}` and `${NAME:-default}` from the environment, so one file serves several installations. An unset
 * variable without a default stays as it is, and so does one with a line break in its value or default: it would shift
 * the lines of errors. Each variable has one problem at most.
 */
export function interpolate(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): { filled: string; problems: VariableProblem[] } {
  const problems = new Map<string, VariableProblem>();
  const filled = text.replaceAll(
    /\$\{([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}/g,
    (whole, name: string, fallback: string | undefined, at: number) => {
      const value = environment[name] ?? '';
      const problem = problemOf(value, fallback);
      if (problem === null) return value === '' ? (fallback ?? whole) : value;
      if (!problems.has(name))
        problems.set(name, { at, text: `the environment variable ${name} ${problem}` });
      return whole;
    },
  );
  return { filled, problems: [...problems.values()] };
}

function problemOf(value: string, fallback: string | undefined): string | null {
  if (value === '' && fallback === undefined) return 'is not set';
  if (/[\r\n]/.test(value)) return 'has a line break';
  return fallback !== undefined && /[\r\n]/.test(fallback) ? 'has a line break in its default' : null;
}
