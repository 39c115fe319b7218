/**
 * The browser's path after a login: the given one if it is a path of the gateway, else `fallback`. Browsers read some
 * texts that begin with a slash as another host, so the URL as a browser would resolve it decides.
 */
export function returnTo(target: string | undefined, fallback: string): string {
  if (target?.startsWith('/') !== true) return fallback;
  const base = 'https://gateway.invalid';
  const url = URL.parse(target, base);
  if (url === null || url.origin !== base) return fallback;
  const path = url.pathname + url.search + url.hash;
  // `/.//host` resolves to a path with two slashes at its beginning: the next reader takes it for a host.
  return /^\/[/\\]/.test(path) ? fallback : path;
}
