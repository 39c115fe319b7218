import { routes as allRoutes, type Route } from './routes.ts';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string> }
  /** The path exists, but not with this method; `allow` lists its methods. */
  | { kind: 'method'; allow: string[] }
  | { kind: 'none' };

/** A route with the names of its parameters in path order. */
interface MatchedRoute {
  route: Route;
  names: readonly string[];
  /** The value of the last parameter, if it is only a part of the remaining path. */
  value?: string;
}

interface Node {
  literal: Map<string, Node>;
  param: Node | null;
  /** Routes ending at this node, by method. */
  ends: Map<string, MatchedRoute>;
  /** Routes with the rest of the path as last parameter, by method. */
  rest: Map<string, MatchedRoute>;
  /** The same for paths ending with a colon and a name, by this name. */
  called: Map<string, Map<string, MatchedRoute>>;
}

const emptyNode = (): Node => ({
  ...{ literal: new Map(), param: null, ends: new Map() },
  ...{ rest: new Map(), called: new Map() },
});

/**
 * Matches raw request paths (without query, still percent-encoded) against the route table. Literal segments take
 * precedence over parameters. Empty segments and dot segments, encoded or not, never match, so no two components can
 * interpret a path differently. Only `{name*}` accepts them, unchanged, for its handler to check.
 */
export class RouteMatcher {
  readonly #root = emptyNode();
  /** Nodes of paths without parameters, which most requests name. */
  readonly #literal = new Map<string, Node>();
  /** Routes for any path after a prefix, with any segments. */
  readonly #prefixes: { prefix: string; name: string; route: Route }[] = [];

  constructor(routes: readonly Route[] = allRoutes) {
    for (const route of routes) this.#add(route);
  }

  match(method: string, path: string): Match {
    const byPrefix = this.#prefixes.find(({ prefix }) => path.startsWith(prefix));
    if (byPrefix !== undefined) {
      const { prefix, name, route } = byPrefix;
      const takesAny = route.method === '*' || route.method === method;
      if (!takesAny && !(method === 'HEAD' && route.method === 'GET'))
        return { kind: 'method', allow: allowedMethods([route.method]) };
      return { kind: 'route', route, params: { [name]: path.slice(prefix.length) } };
    }
    const values: string[] = [];
    const walked = this.#literal.get(path)?.ends ?? this.#walkTo(path, values);
    if (walked === null) return { kind: 'none' };
    // A HEAD request is a GET with a response without body (RFC 9110 §9.3.2).
    const end = walked.get(method) ?? (method === 'HEAD' ? walked.get('GET') : undefined);
    if (end === undefined) return { kind: 'method', allow: allowedMethods([...walked.keys()]) };
    return { kind: 'route', route: end.route, params: nameValues(end, values) };
  }

  #add(route: Route): void {
    const [, prefix, name] = /^(.*)\{(\w+)\*\}$/.exec(route.path) ?? [];
    if (prefix !== undefined && name !== undefined) {
      this.#prefixes.push({ prefix, name, route });
      return;
    }
    const names = [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, parameter = '']) => parameter);
    const end: MatchedRoute = { route, names };
    let node = this.#root;
    const segments = route.path.split('/').slice(1);
    for (const segment of segments) {
      const [isRest, called = ''] = /^\{\w+\+\}(?::(\w+))?$/.exec(segment) ?? [];
      if (isRest !== undefined) {
        const ends = called === '' ? node.rest : (node.called.get(called) ?? new Map<string, MatchedRoute>());
        ends.set(route.method, end);
        if (called !== '') node.called.set(called, ends);
        return;
      }
      if (/^\{\w+\}$/.test(segment)) {
        node.param ??= emptyNode();
        node = node.param;
      } else {
        const next = node.literal.get(segment) ?? emptyNode();
        node.literal.set(segment, next);
        node = next;
      }
    }
    node.ends.set(route.method, end);
    if (names.length === 0) this.#literal.set(route.path, node);
  }

  #walkTo(path: string, values: string[]): Node['ends'] | null {
    return isSafePath(path) ? this.#walk(this.#root, path.split('/').slice(1), values) : null;
  }

  /** Returns the routes of the segments from `depth` on. Collects the values of parameters in `values`. */
  #walk(node: Node, segments: readonly string[], values: string[], depth = 0): Node['ends'] | null {
    const segment = segments[depth];
    if (segment === undefined) return node.ends.size > 0 ? node.ends : null;
    const literal = node.literal.get(segment);
    const byLiteral = literal === undefined ? null : this.#walk(literal, segments, values, depth + 1);
    if (byLiteral !== null) return byLiteral;
    if (node.param !== null) {
      values.push(segment);
      const byParam = this.#walk(node.param, segments, values, depth + 1);
      if (byParam !== null) return byParam;
      values.pop();
    }
    if (node.rest.size === 0 && node.called.size === 0) return null;
    const rest = segments.slice(depth).join('/');
    const [, value = '', name = ''] =
      node.called.size === 0 ? [] : (/^(.*)(?::|%3a)(\w+)$/is.exec(rest) ?? []);
    const called = node.called.get(name);
    if (called === undefined && node.rest.size === 0) return null;
    values.push(rest);
    if (called === undefined) return node.rest;
    // Other methods of HTTP take the name for a part of the value.
    return new Map([
      ...node.rest,
      ...[...called].map(([method, end]) => [method, { ...end, value }] as const),
    ]);
  }
}

/** Whether a path is the root, or has no empty segment and no dot segment, encoded or not, and every parser reads it alike. */
export function isSafePath(path: string): boolean {
  return path === '/' || (path.startsWith('/') && !path.split('/').slice(1).some(isUnsafe));
}

function isUnsafe(segment: string): boolean {
  // A raw `#` or no-break space is not valid in a path (RFC 3986 §3.3), and parsers of URLs differ in how they read it.
  if (segment === '' || /[#\u00a0\ufeff]/.test(segment)) return true;
  if (!segment.includes('.') && !segment.includes('%')) return false;
  try {
    // The id of a model may contain an encoded slash, but no dot segments between slashes.
    return /(^|[/\\])\.{1,2}($|[/\\])/.test(decodeURIComponent(segment));
  } catch {
    return true;
  }
}

function nameValues({ names, value }: MatchedRoute, values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  const all = value === undefined ? values : [...values.slice(0, -1), value];
  names.forEach((name, index) => (params[name] = decodeURIComponent(all[index] ?? '')));
  return params;
}

/** The value of `Allow` for a path with these methods. HEAD comes with GET. */
export function allowedMethods(methods: readonly string[]): string[] {
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort();
}
