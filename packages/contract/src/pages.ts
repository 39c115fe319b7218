import { z } from 'zod';
import { routesWith, type Route } from './route.ts';

/** The pages of the gateway: `/app/*`. For browsers, so not part of the OpenAPI document. */

export const pagesFolder = '/app';

/** All pages are views of one document. */
export const pagesPath = `${pagesFolder}/`;

export const pagesEntryId = 'pages.entry';
export const pagesFolderId = 'pages.folder';
export const pageFilesId = 'pages.files';

const route = routesWith({ service: 'edge', access: { kind: 'public' } });
const toPages = { response: { status: 303, shape: null }, summary: 'Leads to the pages' } as const;

export const webRoutes: readonly Route[] = [
  route(pagesEntryId, 'GET /', toPages),
  route(pagesFolderId, `GET ${pagesFolder}`, toPages),
  route(pageFilesId, `GET ${pagesPath}{path*}`, {
    response: { status: 200, shape: z.string(), revalidated: true },
    summary: 'The document of the pages, and the files that it loads',
  }),
];
