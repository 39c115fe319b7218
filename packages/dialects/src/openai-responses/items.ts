import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { SampleBuilder } from '../usage/token-estimate.ts';
import { isAddress, isTextFile } from '../file-types.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { summaryMark } from '../marked-signatures.ts';
import { textOf } from '../translation/fields.ts';

/** Items of inputs and outputs: messages, thoughts, calls of tools and their results. Newer kinds count as their texts. */

/** The items of an input: a text is a message of the user. */
export function inputItems(input: unknown): Fields[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).filter(isFields);
}

/** The text of an item with a cost in tokens. */
export function itemText({ name, arguments: args, input, summary, content, output }: Fields): string {
  return [name, args, input, summary, content, output].map(partsText).join('');
}

/** Adds an item to a sample of texts. A sealed summary counts as the bytes in its base64. */
export function addItem(sample: SampleBuilder, item: Fields): void {
  sample.add(itemText(item));
  if (isCompaction(item)) sample.addChars(Math.ceil((textOf(item['encrypted_content']).length * 3) / 4));
}

function partsText(parts: unknown): string {
  if (typeof parts === 'string') return parts;
  return listOf(parts)
    .filter(isFields)
    .map(({ text, refusal }) => textOf(text) + textOf(refusal))
    .join('');
}

/** The texts of a message for a reader. */
export function spokenText({ content }: Fields, separator = ''): string {
  if (typeof content === 'string') return content;
  const texts = listOf(content)
    .filter(isFields)
    .map(({ type, text }) => (spokenTypes.has(type) ? textOf(text) : ''));
  return texts.filter((text) => text !== '').join(separator);
}

const spokenTypes: ReadonlySet<unknown> = new Set(['input_text', 'output_text', 'text']);

interface ItemAttachments extends MessageAttachments {
  /** Whether one of them is sent as audio. */
  audio: boolean;
}

/** Pictures, sounds and files in items: their number, and the bytes of those in the request itself. */
export function attachmentsIn(items: readonly Fields[]): ItemAttachments {
  const attachments: ItemAttachments = { count: 0, bytes: 0, linked: 0, audio: false };
  for (const { content, output, type, result } of items) {
    const parts = [content, output].flatMap((place) => (isFields(place) ? [place] : listOf(place)));
    for (const part of parts) if (isFields(part)) addPart(attachments, part);
    // An earlier picture of the provider's.
    if (type === 'image_generation_call' && typeof result === 'string') add(attachments, result);
  }
  return attachments;
}

function addPart(
  attachments: ItemAttachments,
  { type, image_url, file_data, filename, file_id, file_url, input_audio }: Fields,
): void {
  if (isFields(input_audio)) {
    add(attachments, input_audio['data']);
    attachments.audio = true;
  } else if (image_url !== undefined || type === 'input_image') add(attachments, image_url);
  else if (isTextFile(file_data, filename)) return;
  else if (file_data !== undefined || file_id !== undefined || file_url !== undefined)
    add(attachments, file_data, file_url);
}

/** `url`: an address beside the data, or in place of it. */
function add(attachments: ItemAttachments, data: unknown, url?: unknown): void {
  attachments.count += 1;
  attachments.linked += isAddress(data) || url !== undefined ? 1 : 0;
  attachments.bytes += textOf(data).length;
}

/** Whether an item is a thought by its id alone, not found by a provider without stored responses. */
export function isEmptyThought({ type, encrypted_content: encrypted, content }: Fields): boolean {
  return type === 'reasoning' && textOf(encrypted) === '' && listOf(content).length === 0;
}

/** The id in place of an item, with nothing beside it; null for an item. OpenAI's `type` may be missing. */
export function referenceIn({ type, role, id }: Fields): string | null {
  const isReference = type === 'item_reference' || ((type ?? null) === null && role === undefined);
  return isReference && typeof id === 'string' ? id : null;
}

/** Asks for a summary of the items before it. */
export const triggerType = 'compaction_trigger';

/** Whether an item is the summary of the items before it, by one of its names over time. */
export function isCompaction({ type }: Fields): boolean {
  return type === 'compaction' || type === 'compaction_summary';
}

/** The summary sealed in an item by the gateway; null for any other item. */
export function sealedSummary(item: Fields): string | null {
  const sealed = textOf(item['encrypted_content']);
  return isCompaction(item) && sealed.startsWith(summaryMark) ? sealed : null;
}

/** How the message with a summary begins. */
const summaryIntro =
  'This conversation was longer. Its earlier part was replaced by this summary, made by the model that led it until then. Go on from it:\n\n';

/** The message by which models read a summary. It is no instruction, so it is the user's. */
export function summaryMessage(summary: string): Fields {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: summaryIntro + summary }] };
}

/** Whether an item is a message of the user, and no summary. */
export function isOfUser(item: Fields): boolean {
  const { type = 'message', role } = item;
  return type === 'message' && role === 'user' && !spokenText(item).startsWith(summaryIntro);
}

/** Whether an item goes back to its own vendor alone. */
export function isSigned({ encrypted_content: encrypted }: Fields): boolean {
  return textOf(encrypted) !== '';
}

/** Items of the client: messages, results, and what stands between turns. */
export const clientItems = /^message$|^item_reference$|_(?:output|response|tools|trigger)$/;

/** Types of items by which a model asks the client to act. */
const callTypes: ReadonlySet<unknown> = new Set([
  ...['function_call', 'custom_tool_call', 'computer_call', 'local_shell_call', 'shell_call'],
  ...['apply_patch_call', 'mcp_approval_request'],
]);

/** Whether an item asks the client, or the gateway, to act. A hosted shell has its result in the same answer. */
export function isCall(item: unknown): item is Fields {
  return isFields(item) && callTypes.has(item['type']);
}

/**
 * The name of the called function. Tools of other types, and those in a namespace, are never the gateway's: their names
 * have a part not possible in its names.
 */
export function calledName({ type, name, namespace }: Fields): string {
  if (type !== 'function_call') return `${textOf(type)}/${textOf(name)}`;
  return typeof namespace === 'string' && namespace !== '' ? `${namespace}/${textOf(name)}` : textOf(name);
}
