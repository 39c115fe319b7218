import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { allowedMethods, isSafePath, RouteMatcher, type Match } from '@gatehouse/contract/match';
import type { Route } from '@gatehouse/contract/routes';
import { Router, type NextFunction, type Request, type Response } from 'express';

/** Answers one request, by what the router has found for it. */
export type Answer = (request: IncomingMessage, response: ServerResponse, match: Match) => Promise<void>;

/**
 * express's router with these routes. Like `RouteMatcher`, by which the edge finds a route, it prefers literal segments
 * to parameters, and finds the methods of a path. `RouteMatcher` itself finds the routes with paths ending with a colon
 * and a name: express would miss a percent-encoded colon.
 */
export function routerOf(routes: readonly Route[], answer: Answer): RequestListener {
  const answerWithUrl: Answer = (request, response, match) => {
    request.url = (request as Request).originalUrl;
    return answer(request, response, match);
  };
  // Without an express application, which would replace the prototypes of request and response.
  const router = Router({ caseSensitive: true, strict: true });
  const byPath = Object.groupBy(
    routes.filter((route) => calledName(route.path) === null),
    ({ path }) => path,
  );
  const called = new Set(routes.map(({ path }) => calledName(path)).filter((name) => name !== null));
  const matcher = new RouteMatcher(routes);
  for (const [path, group = []] of Object.entries(byPath).sort(([a], [b]) => compareSpecific(a, b))) {
    const methods = group.map(({ method }) => method);
    const route = router.route(expressPath(path));
    for (const entry of group) {
      const method = entry.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
      route[method](async (request: Request, response: Response) =>
        answerWithUrl(request, response, { kind: 'route', route: entry, params: paramsOf(request) }),
      );
    }
    route.all(async (request, response) =>
      answerWithUrl(request, response, { kind: 'method', allow: allowedMethods(methods) }),
    );
  }
  return (request, response) => {
    const { url = '' } = request;
    const [path = ''] = url.split('?', 1);
    // express reads other paths in its own way, and answers `*` or an absolute URL with a page of its own.
    if (!isSafePath(path)) {
      void answer(request, response, { kind: 'none' });
      return;
    }
    const name = called.size === 0 ? null : calledName(path);
    if (name !== null && called.has(name)) {
      void answer(request, response, matcher.match(request.method ?? '', path));
      return;
    }
    // express parses a URL with certain characters in its query by other rules, which change the path as well.
    request.url = path;
    (request as Request).originalUrl = url;
    const none: NextFunction = () => void answerWithUrl(request, response, { kind: 'none' });
    router(request as Request, response as Response, none);
  };
}

/** The name behind the last colon of a path; null if it ends otherwise. */
function calledName(path: string): string | null {
  return /(?::|%3a)(\w+)$/i.exec(path)?.[1] ?? null;
}

/** `/v1/models/{id+}` → `/v1/models/*id`. */
function expressPath(path: string): string {
  return path.replace(/\{(\w+)\+\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}

/** Sorts `/a/b` before `/a/{id}` before `/a/{id+}`: express takes the first fitting path. */
function compareSpecific(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  return left < right ? -1 : Number(left > right);
}

function rank(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment.endsWith('+}') ? '2' : segment.startsWith('{') ? '1' : `0${segment}`))
    .join('/');
}

function paramsOf(request: Request): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.params).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join('/') : value,
    ]),
  );
}
