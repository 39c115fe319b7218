import { smallBytes } from '@gatehouse/kit/json-bytes';
import { parseBody, readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import type { Target } from '../catalogue/target.ts';
import type { Rewrite } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import {
  elementRanges,
  memberRanges,
  parsedPart,
  smallMembers,
  wholeOf,
  type Range,
} from '@gatehouse/dialects/wire/json-parts';
import { LargeWork } from '../shared/large-work.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';
import { messagesKind, messagesUrl, RequestSum, CustomIds, noShare, unchanged } from './batch-requests.ts';
import type { LineGuardrails } from './line-guardrails.ts';
import { maxBatchRequests } from '../bounds.ts';

/** As Anthropic has it. */
const idPattern = /^[a-zA-Z0-9_-]{1,64}$/;

/** The body of a batch for its provider. */
export interface CheckedMessages {
  requests: RequestSum;
  /** The client's name of the first request. */
  firstId: string;
  /** The body, in pieces of the client's. */
  body: Pieces;
}

export interface MessageRequestsOptions {
  tenantId: string;
  /** Finds the deployment of the first request's model. */
  targetFor: (model: string) => Target;
  /** The client's headers its API passes on. */
  headers: Readonly<Record<string, string>>;
  guardrails: Pick<LineGuardrails, 'passed'>;
  /** Signatures in the text of a request for its provider. */
  signaturesFor: (text: Buffer, target: Target) => Promise<Pick<Rewrite, 'keepsSignature'>>;
}

/** The requests of a batch of messages, each of which is read in a turn of its tenant at the event loop. */
export class MessageRequests {
  readonly #body: Buffer;
  readonly #tenantId: string;
  readonly #options: MessageRequestsOptions;
  readonly #ids = new CustomIds();
  #sum: RequestSum | null = null;

  constructor(body: Buffer, options: MessageRequestsOptions) {
    this.#body = body;
    this.#tenantId = options.tenantId;
    this.#options = options;
  }

  /** The first request gets the name `firstName`. Throws a 400 naming the wrong request. */
  async checked(firstName: string): Promise<CheckedMessages> {
    const pieces: Buffer[] = [Buffer.from('{"requests":[')];
    let firstId = '';
    for (const [index, range] of (await this.#ranges()).entries()) {
      const { id, params } = await this.#request(range).catch((error: unknown) => {
        throw named(error, `requests.${index}`);
      });
      if (index === 0) firstId = id;
      const head = JSON.stringify({ custom_id: index === 0 ? firstName : id });
      pieces.push(
        Buffer.from(`${index === 0 ? '' : ','}${head.slice(0, -1)},"params":`),
        ...params.all,
        close,
      );
    }
    pieces.push(Buffer.from(']}'));
    if (this.#sum === null) throw new Error('the first request names the model');
    return { requests: this.#sum, firstId, body: new Pieces(pieces) };
  }

  async #ranges(): Promise<readonly Range[]> {
    const members = await this.#members(wholeOf(this.#body), ['requests']);
    const requests = members.get('requests');
    if (requests === undefined) throw missing('requests');
    const options = { tenantId: this.#tenantId, max: maxBatchRequests + 1 };
    const ranges = await elementRanges(this.#body, requests, options);
    if (ranges === null)
      throw new AppError('invalid_type', 'requests must be an array.', { param: 'requests' });
    if (ranges.length === 0)
      throw new AppError('invalid_value', 'requests must have a request.', { param: 'requests' });
    if (ranges.length > maxBatchRequests)
      throw new AppError('invalid_value', `requests must have at most ${maxBatchRequests} requests.`, {
        param: 'requests',
      });
    return ranges;
  }

  async #request(range: Range): Promise<{ id: string; params: Pieces }> {
    const members = await this.#members(range, ['custom_id', 'params']);
    const [idRange, params] = [members.get('custom_id'), members.get('params')];
    if (idRange === undefined) throw missing('custom_id');
    if (params === undefined) throw missing('params');
    const id = await this.#id(idRange);
    const bytes = this.#body.subarray(params.from, params.until);
    return {
      id,
      params: await this.#params(bytes).catch((error: unknown) => {
        throw named(error, 'params');
      }),
    };
  }

  async #id(range: Range): Promise<string> {
    const isShort = range.until - range.from <= 1_024;
    const id = isShort ? await parsedPart(this.#body, range, this.#tenantId) : undefined;
    const param = 'custom_id';
    if (typeof id !== 'string' || !idPattern.test(id))
      throw new AppError('invalid_value', 'custom_id must have 1 to 64 letters, digits, _ and -.', { param });
    if (!this.#ids.add(id))
      throw new AppError('invalid_value', 'custom_id must differ from those of other requests.', { param });
    return id;
  }

  async #params(bytes: Buffer): Promise<Pieces> {
    const work = { tenantId: this.#tenantId, bytes: bytes.length };
    // The database is asked before the turn of large requests.
    const signatures = await this.#signatures(bytes);
    return LargeWork.during(work, async () => {
      const target = this.#sum?.target;
      const passed =
        target === undefined ? bytes : await this.#options.guardrails.passed(bytes, 'messages', target);
      return this.#written(passed, signatures);
    });
  }

  /** Empty for a request without a model, which is refused when it is read. */
  async #signatures(bytes: Buffer): Promise<Pick<Rewrite, 'keepsSignature'>> {
    this.#sum ??= await this.#firstSum(bytes);
    return this.#sum === null ? {} : this.#options.signaturesFor(bytes, this.#sum.target);
  }

  /** A sum for the model of the first request, with a deployment drawn once for all. */
  async #firstSum(bytes: Buffer): Promise<RequestSum | null> {
    const { targetFor, headers } = this.#options;
    const tenantId = this.#tenantId;
    const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
    const { model } = await smallMembers(bytes, members, { names: ['model'], tenantId });
    if (typeof model !== 'string') return null;
    return new RequestSum(targetFor(model), { model, url: messagesUrl, headers });
  }

  async #written(bytes: Buffer, signatures: Pick<Rewrite, 'keepsSignature'>): Promise<Pieces> {
    const tenantId = this.#tenantId;
    const parsed = await parseBody(bytes, tenantId);
    const { request, target } = await readPart(bytes, tenantId, () => {
      const completion = dialects.messages.readRequest(messagesKind.operation, bytes, parsed);
      // No signatures are looked up for a model found only now.
      if (this.#sum === null)
        throw new AppError('invalid_value', `model takes more than ${smallBytes} bytes.`, {
          param: 'model',
        });
      this.#sum.add(completion, messagesUrl, isFields(parsed) ? parsed : {});
      return { request: completion, target: this.#sum.target };
    });
    const { upstreamModel: model, reasoning: reasons } = target.chain[0];
    const rewrite = { ...unchanged, ...signatures, model, reasons };
    return readPart(bytes, tenantId, () => request.source(noShare).rewritten(rewrite));
  }

  /** Members of an object with no others than these. */
  async #members(range: Range, names: readonly string[]): Promise<ReadonlyMap<string, Range>> {
    const members = await memberRanges(this.#body, range, this.#tenantId);
    if (members === null) throw new AppError('invalid_json', 'This is no JSON object.');
    const [unknown] = [...members.keys()].filter((name) => !names.includes(name));
    if (unknown === undefined) return members;
    const param = unknown.slice(0, 64);
    throw new AppError('unknown_parameter', `Unknown parameter: ${param}.`, { param });
  }
}

const close = Buffer.from('}');

function missing(param: string): AppError {
  return new AppError('missing_required_parameter', `${param} is missing.`, { param });
}

/** The error about a member of a part, by its place in the whole. */
function named(error: unknown, place: string): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message, param, headers, cause } = error;
  const within = param === null ? place : `${place}.${param}`;
  return new AppError(code, `${place}: ${message}`, { param: within, headers, cause });
}
