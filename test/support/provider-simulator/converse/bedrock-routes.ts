import type { Route } from '../route.ts';
import { converseModel, converseRoute } from './converse-routes.ts';
import { invokedModel, invokeRoute } from './invoke-routes.ts';

/** The route of a path of Amazon Bedrock; undefined for others. */
export function bedrockRoute(method: string, path: string): Route | undefined {
  return converseRoute(method, path) ?? invokeRoute(method, path);
}

/** The model that a path of Amazon Bedrock names; null for other paths. */
export function bedrockModel(path: string): string | null {
  return converseModel(path) ?? invokedModel(path);
}
