/**
 * The member of an assistant's message, or of a delta, with the seals of its thoughts, which OpenAI's API has no place for.
 * The gateway needs it for the calls of its own tools within a turn. Clients don't get it.
 */
export const sealedReasoningMember = 'gatehouse_reasoning';
