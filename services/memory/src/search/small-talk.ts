/**
 * Words of greetings and thanks. Earlier turns of a user begin with them too, so `hi` would recall all of these, and
 * they say nothing about the topic of a message.
 */
const smallTalk: ReadonlySet<string> = new Set(
  [
    'hi hello hey hiya thanks thank thx you there please ok okay yes yeah yep no nope bye goodbye welcome sorry great',
    'chào xin cảm ơn bạn vâng dạ',
    'hola gracias sí bonjour salut merci oui non hallo danke bitte ja nein ciao grazie olá obrigado obrigada',
    'привет здравствуйте спасибо да нет пожалуйста γεια ευχαριστώ مرحبا شكرا नमस्ते धन्यवाद',
    '你好 您好 谢谢 こんにちは ありがとう ありがとうございます 안녕하세요 안녕 감사합니다 고마워요 สวัสดี ขอบคุณ',
  ].flatMap((line) => line.split(' ')),
);

const word = /[\p{L}\p{N}\p{M}]+/gu;
const readable = /[\p{L}\p{N}]/u;

/** A message without greetings and thanks; '' if nothing else is in it. */
export function subjectOf(message: string): string {
  const rest = message.replace(word, (match) =>
    smallTalk.has(match.normalize('NFC').toLowerCase()) ? '' : match,
  );
  return readable.test(rest) ? rest.trim() : '';
}
