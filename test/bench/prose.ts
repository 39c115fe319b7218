/** A kilobyte of plain English without anything to find, as prompts and answers have it. */
export const prose = [
  'The order of Monday arrived a day late, and the customer asked whether the second part of it is on its way.',
  'Our warehouse in the north packed 12 boxes on the 14th, of which 3 went out with the first lorry.',
  'Please look at the notes of the last call, and write a short answer in a friendly tone: two paragraphs at most,',
  'with the expected day of delivery, and what we do if the boxes are not there by then. They run version 2.14.3 of',
  'the portal, so the new tracking page works for them. Mention that the price of the second part stays as it was,',
  'although the list has changed since. If they want to cancel, say how, and that there is no charge for it.',
  'Do not promise a refund before somebody has seen the invoice. The person who wrote to us prefers letters, but reads',
  'mail as well. Add a line about the opening hours between the years: from 9 to 17, closed on the 25th and on the 1st.',
  'End with thanks for their patience, and with the usual signature of the team that looks after northern customers.',
].join(' ');
