import { defaultDialect, dialectNames, type DialectName } from '@gatehouse/contract/dialects';
import { routes } from '@gatehouse/contract/routes';
import type { SeenRequest } from '@gatehouse/dialects/client-surface';
import { clientSurfaces } from '@gatehouse/dialects/client-surfaces';
import { pathOf } from '../shared/target.ts';

/** A request as far as it shows which dialect its client speaks. */
export type ClientRequest = Omit<SeenRequest, 'path'>;

/** The last dialect of the registry comes first. */
const lastFirst = dialectNames.toReversed().map((name) => ({ name, surface: clientSurfaces[name] }));

/** Dialects by the paths of completions that have no parameters: nothing else of a request decides there. */
const literalPaths: ReadonlyMap<string, DialectName> = new Map(
  routes
    .filter(({ passThrough, path }) => passThrough && !path.includes('{'))
    .map(({ method, path }) => [path, seenDialect({ method, url: path, path, headers: {} })]),
);

/**
 * Dialect of a client, by the path, also where no route has it. Lists of models have one path for several dialects:
 * there the client's own headers and query decide.
 */
export function clientDialect(request: ClientRequest): DialectName {
  return literalPaths.get(pathOf(request.url)) ?? seenDialect(withPath(request));
}

function seenDialect(seen: SeenRequest): DialectName {
  return lastFirst.find(({ surface }) => surface.recognises?.(seen))?.name ?? defaultDialect;
}

/** Dialect of a request for a path without a route. */
export function dialectOfUnknown(request: ClientRequest): DialectName {
  const seen = withPath(request);
  const unknown = lastFirst.find(({ surface }) => surface.recognisesUnknown?.(seen));
  return unknown?.name ?? clientDialect(request);
}

/** Whether the client's API reports a wrong method of a resource as an unknown path. */
export function hidesMethods(dialect: DialectName, request: ClientRequest): boolean {
  return clientSurfaces[dialect].hidesMethods?.(withPath(request)) === true;
}

function withPath(request: ClientRequest): SeenRequest {
  return { ...request, path: pathOf(request.url) };
}
