import type { CallReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { Model } from '../catalogue/catalogue.ts';

/** A whole answer of an ended call. */
export interface ObjectAnswer {
  kind: 'object';
  model: Model;
  /** A JSON document, as the provider sent it. */
  bytes: Buffer;
  /** The text of the model in it, cut; empty unless it is kept. */
  text: string;
  /** Its calls of tools, with thoughts without a place in its client's API; empty where they have one. */
  thoughts: readonly CallReasoning[];
}
