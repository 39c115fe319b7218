import { useState } from 'preact/hooks';

/** The values of a form: `field` has the props of a field by its name, which is the API's. */
export function useFields<Values extends object>(initial: Values | (() => Values)) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Values>): void => setValues((last) => ({ ...last, ...change }));
  const field = <Name extends keyof Values & string>(name: Name) => ({
    param: name,
    value: values[name],
    onChange: (value: Values[Name]) => setValues((last) => ({ ...last, [name]: value })),
  });
  return { values, set, field };
}
