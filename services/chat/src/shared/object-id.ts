/** Ids of stored objects as clients know them: a prefix, and a UUID without its hyphens. */

export function objectId(prefix: string, uuid: string): string {
  return prefix + uuid.replaceAll('-', '');
}

/** The UUID of an object's id; null for any other text. */
export function uuidIn(prefix: string, id: string): string | null {
  if (!id.startsWith(prefix)) return null;
  const [, ...parts] =
    /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(id.slice(prefix.length)) ??
    [];
  return parts.length === 5 ? parts.join('-') : null;
}
