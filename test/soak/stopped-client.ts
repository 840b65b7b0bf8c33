/** A client for the soak test: it steps over a WebSocket and keeps a connection of gRPC open. It ends by a signal. */
import { connect } from "node:http2";
import { WebSocket } from "ws";

const [url, grpcUrl] = process.argv.slice(2) as [string, string];
const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
const session = connect(grpcUrl);
let answers = 0;
socket.on("open", () => socket.send(JSON.stringify({ type: "reset", data: {} })));
socket.on("message", () => {
  answers += 1;
  if (answers === 3) session.ping(() => process.stdout.write("ready\n"));
  socket.send(JSON.stringify({ type: "step", data: { text: "hello" } }));
});
