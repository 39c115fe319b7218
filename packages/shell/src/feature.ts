import type { Handler, RawHandler } from '@gatehouse/http/app';
import type { Part } from './compose.ts';

/** A feature of a service, as its `create-<feature>.ts` returns it: what it serves, and what it runs. */
export interface Feature {
  handlers?: Record<string, Handler>;
  rawHandlers?: Record<string, RawHandler>;
  /** They start in this order, and stop in reverse. */
  parts?: readonly Part[];
}

/** All of several features together, in their order. */
export function joined(features: readonly Feature[]): Required<Feature> {
  const all = { handlers: {}, rawHandlers: {} };
  for (const { handlers, rawHandlers } of features) {
    Object.assign(all.handlers, handlers);
    Object.assign(all.rawHandlers, rawHandlers);
  }
  return { ...all, parts: features.flatMap(({ parts = [] }) => parts) };
}
