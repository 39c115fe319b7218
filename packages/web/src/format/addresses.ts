/** Whether a URL of the API is only a path: without `PUBLIC_URL` the gateway knows no more. */
export function isWithoutOrigin(url: string): boolean {
  return url.startsWith('/');
}

/** An address of the gateway as far as this browser knows it. */
export function pastedAddress(url: string): string {
  return isWithoutOrigin(url) ? location.origin + url : url;
}

/** A path of the gateway at the origin of another URL of it. */
export function besideAddress(url: string, path: string): string {
  return isWithoutOrigin(url) ? path : new URL(path, url).href;
}
