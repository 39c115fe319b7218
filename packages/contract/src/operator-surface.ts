/** What only operators' own tools may call, and a browser through the relay never (contract §3, browser relay). */

interface Area {
  path: string;
  /** The one method that is none of the operator's business: looking. HEAD and OPTIONS are not it. */
  open?: string;
}

const operatorSurface: readonly Area[] = [
  { path: '/v1/mcp/servers', open: 'GET' },
  { path: '/v1/tenant/resource-transfers' },
];

/** Whether a request is for the operator surface: `path` decoded and without query, or a path of the route table. */
export function isOperatorSurface(method: string, path: string): boolean {
  return operatorSurface.some((area) => method !== area.open && isAtOrUnder(path, area.path));
}

/** Whether the browser relay refuses a request: the owner's paths and the operator surface, existing or not. */
export function isClosedToRelay(method: string, path: string): boolean {
  return isAtOrUnder(path, '/internal') || isOperatorSurface(method, path);
}

export function isAtOrUnder(path: string, area: string): boolean {
  return path === area || path.startsWith(`${area}/`);
}
