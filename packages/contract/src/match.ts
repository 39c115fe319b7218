import { routes as allRoutes, type Route } from './routes.ts';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string> }
  /** The path is known, the method is not one of `allow`. */
  | { kind: 'method'; allow: string[] }
  | { kind: 'none' };

/** A route, and the names of its parameters in path order. */
interface End {
  route: Route;
  names: readonly string[];
}

interface Node {
  literal: Map<string, Node>;
  param: Node | null;
  /** What ends here, by method. */
  ends: Map<string, End>;
  /** What takes the rest of the path as its last parameter, by method. */
  rest: Map<string, End>;
}

const emptyNode = (): Node => ({ literal: new Map(), param: null, ends: new Map(), rest: new Map() });

/**
 * Matches raw request paths (no query, still percent-encoded) against the route table. Literal segments win over
 * parameters. Empty segments and dot segments, encoded or not, match nothing, so that no two components can read one
 * path differently. Only `{name*}` takes them, as they were sent, for the handler to judge.
 */
export class RouteMatcher {
  readonly #root = emptyNode();
  /** Routes that take whatever follows a prefix, by any method and with segments that match nothing else. */
  readonly #asSent: { prefix: string; name: string; route: Route }[] = [];

  constructor(routes: readonly Route[] = allRoutes) {
    for (const route of routes) this.#add(route);
  }

  match(method: string, path: string): Match {
    const asSent = this.#asSent.find(({ prefix }) => path.startsWith(prefix));
    if (asSent !== undefined) {
      const { prefix, name, route } = asSent;
      return { kind: 'route', route, params: { [name]: path.slice(prefix.length) } };
    }
    if (!isSafePath(path)) return { kind: 'none' };
    const segments = path.split('/').slice(1);
    const values: string[] = [];
    const found = this.#walk(this.#root, segments, values);
    if (found === null) return { kind: 'none' };
    // A HEAD request is a GET whose body is not sent (RFC 9110 §9.3.2).
    const end = found.get(method) ?? (method === 'HEAD' ? found.get('GET') : undefined);
    if (end === undefined) return { kind: 'method', allow: allowedMethods([...found.keys()]) };
    return { kind: 'route', route: end.route, params: nameValues(end, values) };
  }

  #add(route: Route): void {
    const [, prefix, name] = /^(.*)\{(\w+)\*\}$/.exec(route.path) ?? [];
    if (prefix !== undefined && name !== undefined) {
      this.#asSent.push({ prefix, name, route });
      return;
    }
    const names = [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, parameter = '']) => parameter);
    const end: End = { route, names };
    let node = this.#root;
    const segments = route.path.split('/').slice(1);
    for (const segment of segments) {
      if (/^\{\w+\+\}$/.test(segment)) {
        node.rest.set(route.method, end);
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
  }

  /** What the segments from `depth` on lead to; the values of the parameters passed on the way are in `values`. */
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
    if (node.rest.size === 0) return null;
    values.push(segments.slice(depth).join('/'));
    return node.rest;
  }
}

/** Whether a path has no empty segment and no dot segment, encoded or not, and can be decoded. */
export function isSafePath(path: string): boolean {
  return path.startsWith('/') && !path.split('/').slice(1).some(isUnsafe);
}

function isUnsafe(segment: string): boolean {
  if (segment === '') return true;
  if (!segment.includes('.') && !segment.includes('%')) return false;
  try {
    // A slash may be encoded in a model's id, but then what it parts must not be dots either.
    return /(^|[/\\])\.{1,2}($|[/\\])/.test(decodeURIComponent(segment));
  } catch {
    return true;
  }
}

function nameValues({ names }: End, values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  names.forEach((name, index) => (params[name] = decodeURIComponent(values[index] ?? '')));
  return params;
}

/** The value of `Allow` for a path with these methods. HEAD comes with GET. */
export function allowedMethods(methods: readonly string[]): string[] {
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort();
}
