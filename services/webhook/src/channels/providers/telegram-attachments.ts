import { z } from 'zod';

/** Members of a message with content other than text: https://core.telegram.org/bots/api#message */
const attachments = [
  'animation',
  'audio',
  'checklist',
  'contact',
  'document',
  'location',
  'paid_media',
  'photo',
  'poll',
  'sticker',
  'story',
  'venue',
  'video',
  'video_note',
  'voice',
] as const;
type Attachment = (typeof attachments)[number];

export const attachmentShapes = Object.fromEntries(
  attachments.map((name) => [name, z.unknown().optional()]),
) as Record<Attachment, z.ZodOptional<z.ZodUnknown>>;

/** The first attachment of a message by its kind; undefined without one. */
export function attachmentOf(message: Partial<Record<Attachment, unknown>>): Attachment | undefined {
  return attachments.find((name) => (message[name] ?? null) !== null);
}
