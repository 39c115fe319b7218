import type { Examples, Route } from '../src/route.ts';

/** The examples of a route. Throws without an example: the document shows every route in use. */
export function examplesOf({ id, examples = {} }: Pick<Route, 'id' | 'examples'>): Examples {
  if (Object.keys(examples).length === 0) throw new Error(`the route ${id} has no example`);
  return examples;
}
