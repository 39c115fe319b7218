/** The operator surface: paths for operator tools, closed to browsers at the relay. */

interface Area {
  path: string;
  /** The one method allowed by the relay. HEAD and OPTIONS are not included in GET. */
  open?: string;
}

const operatorSurface: readonly Area[] = [
  { path: '/v1/mcp/servers', open: 'GET' },
  { path: '/v1/tenant/resource-transfers' },
];

/**
 * Whether a request belongs to the operator surface. `path` is decoded and without query, or a path of the route table.
 */
export function isOperatorSurface(method: string, path: string): boolean {
  return operatorSurface.some((area) => method !== area.open && isAtOrUnder(path, area.path));
}

/**
 * Whether the browser relay rejects a request: paths of the owner, of identity providers and of the operator surface,
 * whether or not they exist.
 */
export function isClosedToRelay(method: string, path: string): boolean {
  return isAtOrUnder(path, '/internal') || isAtOrUnder(path, '/scim') || isOperatorSurface(method, path);
}

export function isAtOrUnder(path: string, area: string): boolean {
  return path === area || path.startsWith(`${area}/`);
}
