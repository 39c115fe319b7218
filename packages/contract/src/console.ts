import { z } from 'zod';
import { routesWith, type Route, type RouteResponse } from './route.ts';

/** The API console and its browser relay: `/api-docs*`. For browsers, so not part of the OpenAPI document. */

/** For a relayed request, the edge serves the route of the target path. */
export const relayId = 'console.relay';

export const consolePageId = 'console.page';

/** Files loaded by the console page, under `/api-docs/assets/`. */
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

const route = routesWith({ service: 'edge', access: { kind: 'public' } });

export const consoleRoutes: readonly Route[] = [
  route(relayId, '* /api-docs/proxy/{target*}', {
    response: { status: 200, shape: null },
    summary: 'Passes a request of the console to its target route, which checks and serves it',
  }),
  route(consolePageId, 'GET /api-docs', {
    response: file,
    summary: 'The API console',
  }),
  ...consoleAssets.map((name) =>
    route(consoleAssetId(name), `GET /api-docs/assets/${name}`, {
      response: file,
      summary: 'A file of the API console',
    }),
  ),
];
