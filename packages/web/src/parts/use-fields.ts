import { useState } from 'preact/hooks';

/** The values of a form: `field` has the props of a field by its name. */
export function useFields<Values extends object>(initial: Values | (() => Values)) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Values>): void => setValues((last) => ({ ...last, ...change }));
  const field = <Name extends keyof Values>(name: Name) => ({
    value: values[name],
    // The compiler widens a computed name.
    onChange: (value: Values[Name]) => set({ [name]: value } as unknown as Partial<Values>),
  });
  return { values, set, field };
}
