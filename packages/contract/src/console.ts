import { z } from 'zod';
import { route, type Route, type RouteResponse } from './route.ts';

/** The API console and its browser relay: `/api-docs*`. For browsers, so not part of the OpenAPI document. */

/** For a relayed request, the edge serves the route of the target path. */
export const relayId = 'console.relay';

export const consolePageId = 'console.page';

/** Files that the console page loads, under `/api-docs/assets/`. */
export const consoleAssets = [
  'console.css',
  'console.js',
  'gatehouse.svg',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
] as const;
export type ConsoleAsset = (typeof consoleAssets)[number];

export const consoleAssetId = (name: ConsoleAsset): string => `console.assets.${name}`;

const file: RouteResponse = { status: 200, shape: z.string(), revalidated: true };

export const consoleRoutes: readonly Route[] = [
  route({
    id: relayId,
    method: '*',
    path: '/api-docs/proxy/{target*}',
    service: 'edge',
    access: { kind: 'public' },
    response: { status: 200, shape: null },
    summary: 'Passes a request of the console to its target route, which checks and serves it',
  }),
  route({
    id: consolePageId,
    method: 'GET',
    path: '/api-docs',
    service: 'edge',
    access: { kind: 'public' },
    response: file,
    summary: 'The API console',
  }),
  ...consoleAssets.map((name) =>
    route({
      id: consoleAssetId(name),
      method: 'GET',
      path: `/api-docs/assets/${name}`,
      service: 'edge',
      access: { kind: 'public' },
      response: file,
      summary: 'A file of the API console',
    }),
  ),
];
