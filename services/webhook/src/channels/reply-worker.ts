export { piecesOf } from './reply-pieces.ts';
