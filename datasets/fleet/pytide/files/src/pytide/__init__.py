%%moved src-layout pytide/__init__.py
"""Read water levels from a Tidewatch hub."""

%%if levels
from pytide.client import Hub
%%else
from pytide.client import Hub, fetch_levels
%%end
%%if errors
from pytide.errors import HubError, StationUnknown
%%end
%%if wire
from pytide.wire import Frame, decode_frame, encode_frame
%%end

__version__ = "«version»"
