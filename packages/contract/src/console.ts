import { route, type Route } from './route.ts';

/** The API console and its browser relay: `/api-docs*` (contract §3). For browsers, so no part of the OpenAPI document. */

/** The edge answers a relayed request by serving the route that the request is for. */
export const relayId = 'console.relay';

export const consoleRoutes: readonly Route[] = [
  route({
    id: relayId,
    method: '*',
    path: '/api-docs/proxy/{target*}',
    service: 'edge',
    access: { kind: 'public' },
    response: { status: 200, shape: null },
    summary: 'Hands a request of the console on to the route it is for, which checks and answers it',
  }),
];
