/** The host of a URL as stores and allow-lists have it: an IPv6 address without the brackets. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
