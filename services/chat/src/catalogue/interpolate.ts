/** An unset variable, and where it is in the text. */
export interface UnsetVariable {
  name: string;
  at: number;
}

/**
 * Fills `${NAME}` and `${NAME:-default}` from the environment, so one file serves several installations. An unset
 * variable without a default stays as it is.
 */
export function interpolate(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): { filled: string; unset: UnsetVariable[] } {
  const unset = new Map<string, UnsetVariable>();
  const filled = text.replaceAll(
    /\$\{([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}/g,
    (whole, name: string, fallback: string | undefined, at: number) => {
      const value = environment[name] ?? '';
      if (value !== '') return value;
      if (fallback === undefined && !unset.has(name)) unset.set(name, { name, at });
      return fallback ?? whole;
    },
  );
  return { filled, unset: [...unset.values()] };
}
