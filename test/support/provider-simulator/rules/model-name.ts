/**
 * The part of a model's name by which providers' rules differ. The gateway has a reading of names of its own, which
 * these rules don't use: an error in it would hide itself.
 */

/** Version of a Claude model times 100: 505 for `claude-opus-5-5`; null for other models. */
export function claudeVersion(model: string): number | null {
  const name = model.toLowerCase().replace(/[-@]20\d{6}/, '');
  const [, older, olderMinor] = /claude-(\d)(?:[-.](\d))?-[a-z]/.exec(name) ?? [];
  if (older !== undefined) return Number(older) * 100 + Number(olderMinor ?? 0);
  const [, major, minor] = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/.exec(name) ?? [];
  return major === undefined ? null : Number(major) * 100 + Number(minor ?? 0);
}

/** Whether a Claude model's name has one of these words, such as `opus`. */
export function isClaude(model: string, words: RegExp): boolean {
  return claudeVersion(model) !== null && words.test(model.toLowerCase());
}

/** Version of a model of OpenAI's times 100: 504 for `gpt-5.4-nano`, 400 for `gpt-4o`; null for other models. */
export function gptVersion(model: string): number | null {
  const [, major, minor] = /(?:^|\/)gpt-(\d)(?:\.(\d))?/.exec(model.toLowerCase()) ?? [];
  return major === undefined ? null : Number(major) * 100 + Number(minor ?? 0);
}

/** Version of a Gemini model times 100: 205 for `gemini-2.5-pro`; null for other models. */
export function geminiVersion(model: string): number | null {
  const [, major, minor] = /gemini-(\d)(?:\.(\d))?/.exec(model.toLowerCase()) ?? [];
  return major === undefined ? null : Number(major) * 100 + Number(minor ?? 0);
}

const profile = /:application-inference-profile\/([\da-f]+)$/;

/** The ARN of an application inference profile of the simulator's Amazon Bedrock, in which no reader of names finds the model. */
export function profileOf(model: string): string {
  const id = Buffer.from(model).toString('hex');
  return `arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/${id}`;
}

/** The model behind an ARN of `profileOf`; other names as they are. */
export function modelBehind(name: string): string {
  const [, id] = profile.exec(name) ?? [];
  return id === undefined ? name : Buffer.from(id, 'hex').toString();
}
