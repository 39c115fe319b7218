import type { ListFiles } from '@gatehouse/contract/files';
import { tenantOf, type Call, type Handler, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders } from '@gatehouse/http/body';
import { doorHeaders, sendJson } from '@gatehouse/http/reply';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Fields } from '@gatehouse/kit/fields';
import { uuidIn } from '../shared/object-id.ts';
import { pageAt, pageOf, tooMany, type BatchDependencies } from './batch-call-handlers.ts';
import { filePrefix } from './batch-api.ts';
import { findFile, hideFile, listFiles, type ListedFile, type StoredFile } from './file-store.ts';
import { shownFile } from './openai-batch.ts';
import { sendLines, type Exchange } from './result-handlers.ts';
import { answerUpload, type UploadDependencies } from './upload-handlers.ts';
import { mostListed } from '../bounds.ts';

/** An upload has a line in memory, and a connection to the provider. */
const uploadsInFlight = { perKey: 2, slots: 16, maxWaiting: 0, tooMany: tooMany('uploads of files') };

/** Files of batches, each for its tenant and its user; others get a 404. */
export function fileHandlers(dependencies: UploadDependencies & { downloads: FairQueue }): {
  handlers: Record<string, Handler>;
  rawHandlers: Record<string, RawHandler>;
} {
  const { pool, sealed } = dependencies;
  const uploads = new FairQueue(uploadsInFlight);
  const showFile = ({ id, content }: ListedFile, tenantId: string): Fields =>
    shownFile(sealed.open(content, { id, tenantId }), { id });
  return {
    rawHandlers: {
      'files.create': async (request, response, call) => {
        const { tenantId } = tenantOf(call);
        checkBodyHeaders(request, call.route);
        const { status = call.route.response.status, ...reply } = await uploads.run(tenantId, () =>
          answerUpload(dependencies, { request, response, call }),
        );
        sendJson(response, status, reply.body, {
          ...reply.headers,
          ...doorHeaders(call.requestId, call.dialect),
        });
      },
      'files.content': (request, response, call) =>
        dependencies.downloads.run(tenantOf(call).tenantId, () =>
          sendContent(dependencies, { request, response, call }),
        ),
    },
    handlers: {
      'files.list': async (call: Call<unknown, ListFiles>) => {
        const { tenantId, userId } = tenantOf(call);
        const { after, order, purpose = null } = call.query;
        const limit = Math.min(call.query.limit, mostListed);
        const page = { after: pageAt(filePrefix, 'after', after), limit: limit + 1, order, purpose };
        const files = await listFiles(pool, { tenantId, userId }, page);
        return {
          body: pageOf(
            files.map((file) => showFile(file, tenantId)),
            limit,
          ),
        };
      },
      'files.get': async (call: Call) => {
        const file = await fileOf(dependencies, call);
        return { body: showFile(file, tenantOf(call).tenantId) };
      },
      'files.delete': async (call: Call) => {
        const id = uuidIn(filePrefix, call.params['file_id'] ?? '');
        if (id === null || !(await hideFile(pool, id, tenantOf(call)))) throw noFile();
        return { body: { id: call.params['file_id'], object: 'file', deleted: true } };
      },
    },
  };
}

export function noFile(): AppError {
  return new AppError('not_found', 'There is no such file.', { param: 'file_id' });
}

async function fileOf(
  { pool }: BatchDependencies,
  call: Pick<Call, 'params' | 'principal'>,
): Promise<StoredFile> {
  const id = uuidIn(filePrefix, call.params['file_id'] ?? '');
  const file = id === null ? null : await findFile(pool, id, tenantOf(call));
  if (file === null) throw noFile();
  return file;
}

async function sendContent(dependencies: BatchDependencies, exchange: Exchange): Promise<void> {
  const { key, providerFileId } = await fileOf(dependencies, exchange.call);
  const path = `/files/${encodeURIComponent(providerFileId)}/content`;
  await sendLines(dependencies, exchange, { key, path });
}
