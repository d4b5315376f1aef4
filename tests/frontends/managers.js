// A front end of nothing but a published widget manager: messages of a real kernel in, messages to it out.
// Python calls `fromKernel`; `toKernel` is Python's.

const TARGET = "jupyter.widget";
const comms = new Map(); // of the kernel and of this page, by id
const futures = new Map(); // what waits for the end of a message that was sent

const signal = () => {
  const slots = [];
  return {
    connect: (slot, self) => slots.push([slot, self]),
    disconnect: (slot) => slots.splice(0, slots.length, ...slots.filter(([each]) => each !== slot)),
    emit: (sender, value) => slots.forEach(([slot, self]) => slot.call(self, sender, value)),
  };
};

const encode = (buffer) => {
  const bytes = ArrayBuffer.isView(buffer) ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) : new Uint8Array(buffer);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
};
const decode = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

function post(kind, content, metadata, buffers) {
  const future = { msg: { header: { msg_id: crypto.randomUUID() } }, done: Promise.resolve() };
  futures.set(future.msg.header.msg_id, future);
  const sent = { id: future.msg.header.msg_id, kind, content, metadata: metadata ?? {}, buffers: (buffers ?? []).map(encode) };
  window.toKernel(JSON.stringify(sent));
  return future;
}

// As @jupyterlab/services has it; `shims.services.Comm` of @jupyter-widgets/base makes the classic one of it.
class Comm {
  constructor(id, target) {
    this.commId = id;
    this.targetName = target;
    comms.set(id, this);
  }
  open(data, metadata, buffers) {
    return post("comm_open", { comm_id: this.commId, target_name: this.targetName, data: data ?? {} }, metadata, buffers);
  }
  send(data, metadata, buffers) {
    return post("comm_msg", { comm_id: this.commId, data }, metadata, buffers);
  }
  close(data, metadata, buffers) {
    comms.delete(this.commId);
    return post("comm_close", { comm_id: this.commId, data: data ?? {} }, metadata, buffers);
  }
}

const displays = new Map(); // what a later message may update, by display id
let openedByKernel = () => {};
let show = () => {};

async function handle(message) {
  const { kind, content } = message;
  message.buffers = message.buffers.map(decode);
  const future = futures.get(message.parent_header.msg_id);
  if (kind === "comm_open" && content.target_name === TARGET) await openedByKernel(new Comm(content.comm_id, TARGET), message);
  if (kind === "comm_msg") await comms.get(content.comm_id)?.onMsg?.(message);
  if (kind === "comm_close") await comms.get(content.comm_id)?.onClose?.(message);
  if (future && kind !== "comm_open") await future.onIOPub?.(message);
  if (kind === "widget") await show(content.model, element(content.id));
  if (kind === "html") {
    const cell = displays.get(content.id) ?? element(content.id);
    cell.innerHTML = content.html;
    window.states.push(cell.textContent); // a test that looks now and then would miss some
  }
}

function element(display) {
  const cell = document.createElement("div");
  cell.className = "output";
  document.body.append(cell);
  if (display) displays.set(display, cell);
  return cell;
}

// In order, as they came; a model is made before what changes it.
let last = Promise.resolve();
window.failures = [];
window.states = [];
window.fromKernel = (text) => {
  const message = JSON.parse(text);
  message.header = { ...message.header, msg_type: message.kind };
  last = last.then(() => handle(message)).catch((error) => window.failures.push(String(error?.stack ?? error)));
};

const required = (names) => new Promise((resolve, reject) => window.requirejs(names, (...modules) => resolve(modules), reject));

// What @jupyter-widgets/html-manager documents for pages: its manager, and the loader that falls back to a CDN.
window.startHtmlManager = async (cdn) => {
  window.requirejs.config({ paths: { anywidget: cdn } });
  const [base, { HTMLManager }] = await required(["@jupyter-widgets/base", "@jupyter-widgets/html-manager"]);
  const manager = new HTMLManager({ loader: async (name) => (await required([name]))[0] });
  openedByKernel = (comm, message) => manager.handle_comm_open(new base.shims.services.Comm(comm), message);
  show = async (id, cell) => manager.display_view(manager.create_view(await manager.get_model(id)), cell);
};

// VS Code's own: its extension gives it a kernel, and a loader of scripts that finds them beside the interpreter.
window.startVsCode = async (program, script) => {
  (await import(program)).activate();
  window.vscIPyWidgets8.load();
  const kernel = {
    id: "kernel", name: "python3", clientId: "page", username: "", model: { id: "kernel", name: "python3" },
    status: "idle", connectionStatus: "connected", handleComms: true, isDisposed: false, serverSettings: {},
    info: Promise.resolve({}),
    registerCommTarget: (_name, opened) => { openedByKernel = opened; },
    removeCommTarget: () => {},
    createComm: (target, id) => new Comm(id ?? crypto.randomUUID(), target),
    hasComm: (id) => comms.has(id),
    requestCommInfo: async () => ({ content: { status: "ok", comms: {} } }),
    registerMessageHook: () => {}, removeMessageHook: () => {},
  };
  for (const name of ["statusChanged", "connectionStatusChanged", "iopubMessage", "unhandledMessage", "anyMessage", "disposed", "pendingInput"]) {
    kernel[name] = signal();
  }
  const loader = {
    widgetsRegisteredInRequireJs: new Set(),
    loadWidgetScript: async (name) => { window.requirejs.config({ paths: { [name]: script } }); },
    errorHandler: (_class, name, version, error) => window.failures.push(`${name} ${version}: ${error}`),
    successHandler: () => {},
  };
  const manager = new window.vscIPyWidgets.WidgetManager(kernel, document.body, loader, () => {});
  show = async (id, cell) => {
    const view = await manager.create_view(await manager.get_model(id), { el: cell });
    await manager.display_view({ model_id: id }, view, { node: cell });
  };
};
